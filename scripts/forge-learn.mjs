// Learns which words speak for which class: the weights of a multinomial logistic regression, as a function of the set of
// texts alone. The order of the texts does not count, and no number is drawn.
//
// The loss is convex: how surprised the model is by the classes of every text, plus a price for every weight, both by its
// size and by its square. So it has one lowest point. Words that many texts have pay less, because more speaks for them. A
// word may speak for a class only if a text of that class has it. The point is approached with accelerated proximal gradient
// steps (FISTA), each word with a step of its own, all from zero and over texts in the order of their characters.

/** A word of fewer texts teaches nothing. */
const SEEN = 2;
/** The length that the words of every text are brought to. */
const LENGTH = 3;
/** Prices of a weight, by its size and by its square. */
const PRICE = { size: 0.03, square: 0.1 };
/** How the price falls with what the texts hold of the word. */
const CHEAPER = -0.2;
/** The price of what a class has before the first word, by its square. */
const START = 1;
/** The steps end when no weight moves by more, or after so many. */
const STILL = 2e-4;
const STEPS = 600;

/** The weights of words for classes; a text is `{ classes, text, words }`, its words with their weights. */
export function learn(texts, steps = STEPS) {
  const sorted = [...texts].sort((a, b) => compare(a.text, b.text) || compare(a.classes.join(), b.classes.join()));
  const { vocabulary, rarity, classes, samples } = prepared(sorted);
  const pairs = pairsOf(samples, vocabulary.length);
  const weights = lowest(samples, pairs, classes.length, steps);
  const start = weights.subarray(pairs.at.length);
  const rows = vocabulary.map((_, word) => {
    const row = [];
    for (let i = pairs.from[word]; i < pairs.from[word + 1]; i++)
      if (weights[i] !== 0) row.push([pairs.at[i], weights[i]]);
    return row;
  });
  return { vocabulary, rarity, classes, start, rows };
}

const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

/** The words that count, how rare each is, and the texts as numbers. */
function prepared(texts) {
  const spread = new Map();
  for (const { words } of texts) for (const word of words.keys()) spread.set(word, (spread.get(word) ?? 0) + 1);
  const vocabulary = [...spread.keys()].filter((word) => spread.get(word) >= SEEN).sort();
  const place = new Map(vocabulary.map((word, i) => [word, i]));
  const rarity = vocabulary.map((word) => Math.round(10 * Math.log(1 + texts.length / spread.get(word))) / 10);
  const classes = [...new Set(texts.flatMap((row) => row.classes))].sort();
  const samples = texts.map((row) => {
    const weighed = [...row.words]
      .filter(([word]) => place.has(word))
      .map(([word, much]) => [place.get(word), much * rarity[place.get(word)]])
      .sort((a, b) => a[0] - b[0]);
    const scale = LENGTH / (Math.sqrt(weighed.reduce((sum, [, x]) => sum + x * x, 0)) || 1);
    return {
      right: row.classes.map((name) => classes.indexOf(name)),
      words: Int32Array.from(weighed, ([word]) => word),
      much: Float64Array.from(weighed, ([, x]) => x * scale),
    };
  });
  return { vocabulary, rarity, classes, samples };
}

/** The classes that each word may speak for, one word after the other. */
function pairsOf(samples, count) {
  const own = Array.from({ length: count }, () => new Set());
  for (const { words, right } of samples) for (const word of words) for (const c of right) own[word].add(c);
  const from = new Int32Array(count + 1);
  own.forEach((set, word) => {
    from[word + 1] = from[word] + set.size;
  });
  return { from, at: Int16Array.from(own.flatMap((set) => [...set].sort((a, b) => a - b))) };
}

/** The lowest point: a weight for every pair, then what each class has before the first word. */
function lowest(samples, { from, at }, classes, steps) {
  const words = from.length - 1;
  const { steep, price } = scales(samples, words);
  const size = at.length + classes;
  let weights = new Float64Array(size);
  let before = new Float64Array(size);
  const ahead = new Float64Array(size);
  const slope = new Float64Array(size);
  const shares = new Float64Array(classes);
  let speed = 1;
  for (let step = 0; step < steps; step++) {
    slopeAt(ahead, samples, { from, at }, slope, shares);
    [before, weights] = [weights, before];
    let moved = 0;
    let back = 0;
    const settle = (i, next, curve) => {
      const change = next - before[i];
      moved = Math.max(moved, Math.abs(change));
      back += (ahead[i] - next) * change * curve;
      weights[i] = next;
    };
    for (let word = 0; word < words; word++) {
      const curve = steep[word];
      for (let i = from[word]; i < from[word + 1]; i++) {
        const wanted = ahead[i] * curve - slope[i];
        const paid = Math.abs(wanted) - PRICE.size * price[word];
        settle(i, paid <= 0 ? 0 : (Math.sign(wanted) * paid) / (curve + PRICE.square * price[word]), curve);
      }
    }
    const curve = steep[words];
    for (let i = at.length; i < size; i++) settle(i, (ahead[i] * curve - slope[i]) / (curve + START), curve);
    if (moved < STILL) break;
    // Momentum that points uphill is given up.
    const faster = back > 0 ? 1 : (1 + Math.sqrt(1 + 4 * speed * speed)) / 2;
    const push = back > 0 ? 0 : (speed - 1) / faster;
    for (let i = 0; i < size; i++) ahead[i] = weights[i] + push * (weights[i] - before[i]);
    speed = faster;
  }
  return weights;
}

/** How steep the loss can be along each word, and last along a class's start; and what share of the price a word pays. */
function scales(samples, words) {
  const steep = new Float64Array(words + 1);
  const mass = new Float64Array(words);
  for (const row of samples) {
    const all = row.much.reduce((sum, x) => sum + x, 1) / 2;
    row.words.forEach((word, i) => {
      steep[word] += all * row.much[i];
      mass[word] += row.much[i] ** 2;
    });
    steep[words] += all;
  }
  return { steep, price: mass.map((x) => x ** CHEAPER) };
}

/** The slope of the loss without its prices. */
function slopeAt(weights, samples, { from, at }, slope, shares) {
  slope.fill(0);
  const starts = at.length;
  for (const { words, much, right } of samples) {
    shares.set(weights.subarray(starts));
    for (let k = 0; k < words.length; k++)
      for (let i = from[words[k]]; i < from[words[k] + 1]; i++) shares[at[i]] += weights[i] * much[k];
    softmax(shares);
    // Several right classes are right alike: the words must not speak against any of them.
    for (const c of right) shares[c] -= 1 / right.length;
    for (let k = 0; k < words.length; k++)
      for (let i = from[words[k]]; i < from[words[k] + 1]; i++) slope[i] += shares[at[i]] * much[k];
    for (let c = 0; c < shares.length; c++) slope[starts + c] += shares[c];
  }
}

function softmax(values) {
  let most = values[0];
  for (const value of values) if (value > most) most = value;
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i] = Math.exp(values[i] - most);
  for (let i = 0; i < values.length; i++) values[i] /= sum;
}
