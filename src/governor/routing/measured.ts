// What routing by measured costs takes, loaded together where there is a choice between devices.

export { calibrate } from './calibrate.ts';
export { Costs } from './costs.ts';
export { Router } from './router.ts';
