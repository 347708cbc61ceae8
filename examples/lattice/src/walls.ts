// Walls to begin with: one byte per vertex of a square, 1 where there is a wall. Both corners stay free.

export const side = 100;
export const [start, end] = [0, side * side - 1];

type Draw = (wall: (row: number, column: number) => void) => void;

/** The same numbers every time. */
function* draws(seed: number): Generator<number> {
  for (let state = seed; ; ) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield state / 2 ** 32;
  }
}

const rows = Array.from({ length: side }, (_, i) => i);

export const presets: Readonly<Record<string, Draw>> = {
  Switchbacks: (wall) => {
    for (let row = 9, turn = 0; row < side - 5; row += 10, turn++)
      for (const column of rows) if (turn % 2 === 0 ? column < side - 6 : column > 5) wall(row, column);
  },
  // Sixteen rooms, with a door in most of their walls.
  Rooms: (wall) => {
    const random = draws(136);
    for (const at of [24, 49, 74])
      for (let room = 0; room < 4; room++)
        for (const across of [true, false]) {
          const door = random.next().value! < 0.3 ? -1 : 3 + Math.floor(15 * random.next().value!);
          for (let i = 0; i < 25; i++) {
            if (door >= 0 && i >= door && i < door + 4) continue;
            if (across) wall(at, 25 * room + i);
            else wall(25 * room + i, at);
          }
        }
  },
  Scattered: (wall) => {
    const random = draws(7);
    for (const row of rows) for (const column of rows) if (random.next().value! < 0.32) wall(row, column);
  },
  None: () => {},
};

export function wallsOf(name: string): Uint8Array {
  const walls = new Uint8Array(side * side);
  presets[name]!((row, column) => {
    walls[row * side + column] = 1;
  });
  walls[start] = walls[end] = 0;
  return walls;
}
