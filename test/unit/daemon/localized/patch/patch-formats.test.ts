import { afterAll, describe, expect, it } from 'vitest';
import { createRandom } from '../../../../../src/cli/dev/seeded-random.ts';
import { HOSTILE_RULES, hostileContainers } from '../../../../support/hostile-containers.ts';
import { mutations } from '../../../../support/mutate.ts';
import { patchBytes, placesOf, randomUnitEdits, unitsOf } from '../../../../support/patch-bytes.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

const ROUNDS = 6;
const DAMAGED = 12;

const containers = await hostileContainers(await temporaryDirectory(afterAll));
const cases = containers.map((container, number) => [container.destination, number, container] as const);

describe('patching a container', () => {
  it.each(cases)(
    'writes random edits of %s (%i), and everything reads back',
    async (destination, number, { bytes, wrap }) => {
      const content = await wrap(bytes);
      const units = await unitsOf(destination, content, HOSTILE_RULES);
      expect(units.length).toBeGreaterThan(0);
      for (let seed = 1; seed <= ROUNDS; seed += 1) {
        const edits = randomUnitEdits(units, 100 * number + seed);
        const { result, bytes: patched } = await patchBytes(destination, content, edits, HOSTILE_RULES);
        expect(result).toMatchObject({
          kind: 'patched',
          size: patched?.length,
          checked: { editedUnits: edits.length },
        });
        const found = await unitsOf(destination, patched ?? Buffer.alloc(0), HOSTILE_RULES);
        expect(placesOf(found)).toEqual(placesOf(units, edits));
        const again = await patchBytes(destination, content, edits, HOSTILE_RULES);
        expect(again.bytes?.equals(patched ?? Buffer.alloc(0))).toBe(true);
      }
    },
  );

  it.each(cases)(
    'refuses a damaged %s (%i), or writes it right',
    async (destination, number, { bytes, wrap }) => {
      const random = createRandom(number);
      for (const damaged of mutations(bytes, { seed: number, count: DAMAGED })) {
        const content = await wrap(damaged);
        const units = await unitsOf(destination, content, HOSTILE_RULES);
        const edits = randomUnitEdits(units, random.below(1000));
        if (edits.length === 0) continue;
        const { result, bytes: patched } = await patchBytes(destination, content, edits, HOSTILE_RULES);
        if (result.kind === 'patched') {
          const found = await unitsOf(destination, patched ?? Buffer.alloc(0), HOSTILE_RULES);
          expect(placesOf(found)).toEqual(placesOf(units, edits));
        } else {
          expect(result).toMatchObject({ kind: 'failed', message: expect.stringMatching(/./) });
          expect(patched).toBeNull();
        }
      }
    },
  );
});
