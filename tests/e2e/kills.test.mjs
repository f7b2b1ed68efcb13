// The short form of `./dev soak kills`: a kill of each of owner, vmrun and QEMU in the phases where it hurts most.
import { test } from 'node:test';
import { kMinute } from './harness.mjs';
import { Soak } from './soak_kills.mjs';

const kRounds = [['owner', 'create'], ['vmrun', 'run'], ['owner', 'copy_in'], ['qemu', 'run'], ['vmrun', 'create'],
  ['owner', 'destroy']];

test('killed at random moments, nothing is lost, left or touched', { timeout: 6 * kMinute }, async (t) => {
  const seed = Date.now() % 2 ** 31;
  t.diagnostic(`seed ${seed}`);
  const soak = await Soak.make(seed, (line) => t.diagnostic(line));
  try {
    await soak.bystand();
    for (const [victim, phase] of kRounds) await soak.round(victim, phase);
    await soak.finish();
  } finally {
    await soak.end();
  }
});
