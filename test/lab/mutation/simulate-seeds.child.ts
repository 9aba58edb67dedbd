import { makeScenario } from '../simulation/make-scenario.ts';
import { simulate } from '../simulation/simulate.ts';

/** `node simulate-seeds.child.ts COUNT`: simulates seeds until one breaks a promise, and then ends with 1. */
const count = Number(process.argv[2]);
for (let seed = 1; seed <= count; seed++) {
  const [violation] = (await simulate(makeScenario(seed))).violations;
  if (violation === undefined) continue;
  console.log(`seed ${seed}: ${violation.rule}: ${violation.what}`);
  process.exit(1);
}
process.exit(0);
