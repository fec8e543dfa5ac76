import { describe, expect, it } from 'vitest';
import { createRandom } from '../../../../../src/cli/dev/seeded-random.ts';
import { TaskError } from '../../../../../src/daemon/tasks/task.ts';
import { fileOf, sampleUnit } from '../../../../support/exchange-units.ts';
import { campaignSize } from '../../../../support/long.ts';
import { mutations } from '../../../../support/mutate.ts';
import { openReviewWorld, REVIEW_SOURCES, reviewUnit } from '../../../../support/review-world.ts';

const FILES = campaignSize(2_000, 20_000);
const FORMATS = ['xliff-2.1', 'xliff-1.2', 'csv', 'jsonl'] as const;
/** Parts that attack readers of XML and tables. */
const HOSTILE: readonly Buffer[] = [
  '<!DOCTYPE x [<!ENTITY a "&b;&b;&b;"><!ENTITY b "bbbbbbbbbb">]>',
  '<!DOCTYPE x SYSTEM "file:///etc/passwd">',
  '&a;&#0;&#xD800;',
  '<![CDATA[',
  '<?xml version="1.1" encoding="Shift_JIS"?>',
  '"',
  '\u0000',
  '\r\n',
  '{"unit_id":7}\n',
].map((text) => Buffer.from(text));
/** Bytes that are not UTF-8. */
const OTHER_ENCODING = Buffer.from([0x93, 0xfa, 0x96, 0x7b]);

describe(`${FILES} mutated files that a reviewer sends`, () => {
  it.each(FORMATS)(
    'as %s are accepted, or refused with the reason and without a change',
    async (format) => {
      const world = await openReviewWorld();
      const units = Object.entries(REVIEW_SOURCES).flatMap(([destination, sources]) =>
        sources.map((source_text, at) =>
          sampleUnit({
            unit_id: reviewUnit(destination, at),
            locator: { destination, archive_entry: null, path_id: null, field_path: `/k${at}` },
            source_text,
            target_text: `T${at}`,
            context: {},
            revision: null,
          }),
        ),
      );
      const original = await fileOf(format, units);
      const name = format.startsWith('xliff') ? 'in.xlf' : `in.${format}`;
      const random = createRandom(15);
      const count = FILES / FORMATS.length;
      const outcomes = { accepted: 0, file_refused: 0, import_refused: 0 };
      let before = world.everything();
      for (const copy of mutations(original, { seed: 15, count })) {
        const at = random.below(copy.length + 1);
        const part = random.below(4) === 0 ? OTHER_ENCODING : random.pick(HOSTILE);
        const isHostile = random.below(2) === 0;
        const bytes = isHostile ? Buffer.concat([copy.subarray(0, at), part, copy.subarray(at)]) : copy;
        await world.write(name, bytes);
        const args = { translation_file: name, reviewer: 'Rin', reason: null, token_id: null };
        try {
          await world.run('proofread-import', args);
          outcomes.accepted += 1;
          before = world.everything();
        } catch (error) {
          expect(error).toBeInstanceOf(TaskError);
          const { code, message } = error as TaskError;
          expect(message).toMatch(/line \d+: ./);
          expect(['file_refused', 'import_refused']).toContain(code);
          outcomes[code as keyof typeof outcomes] += 1;
          expect(world.everything()).toEqual(before);
        }
      }
      expect(outcomes.file_refused).toBeGreaterThan(count / 10);
      // Some mutations change only a target, a note or an id.
      expect(outcomes.accepted + outcomes.import_refused).toBeGreaterThan(0);
    },
    120_000,
  );
});
