import { describe, expect, it } from 'vitest';
import { createRandom } from '../../../../src/cli/dev/seeded-random.ts';
import { ExchangeFileError } from '../../../../src/contract/formats/exchange-file-error.ts';
import { fileOf, readFile, sampleUnit, UNIT_FORMAT_NAMES } from '../../../support/exchange-units.ts';
import { campaignSize } from '../../../support/long.ts';
import { mutations } from '../../../support/mutate.ts';

const FILES = campaignSize(2_000, 20_000);
/** Parts that attack readers of XML and tables. */
const HOSTILE: readonly Buffer[] = [
  '<!DOCTYPE x [<!ENTITY a "&b;&b;&b;"><!ENTITY b "bbbbbbbbbb">]>',
  '<!DOCTYPE x SYSTEM "file:///etc/passwd">',
  '<!ENTITY % p SYSTEM "http://127.0.0.1/">',
  '&a;&#0;&#xD800;&#x110000;',
  '<cp hex="D800"/><cp hex=""/>',
  '<![CDATA[',
  ']]>',
  '<!--',
  '<?xml version="1.1" encoding="Shift_JIS"?>',
  '<unit id="1">',
  '<source>',
  '</target>',
  '"',
  '\u0000',
  '\ufeff',
  '\r',
  '{"end":true,"units":1}\n',
  '['.repeat(2000),
  '<a>'.repeat(50),
].map((text) => Buffer.from(text));

describe(`${FILES} mutated files of units`, () => {
  it.each(UNIT_FORMAT_NAMES)(
    'as %s are read or refused with line and reason, and never end a program',
    async (format) => {
      const original = await fileOf(format, [
        sampleUnit(),
        sampleUnit({
          unit_id: 'tu1_b',
          source_text: 'と\u0003',
          note: '注',
          previous_source: 'お',
          previous_target: '您',
        }),
        sampleUnit({ unit_id: 'tu1_c', target_text: null, state: 'untranslated', context: {} }),
      ]);
      const random = createRandom(15);
      const count = FILES / UNIT_FORMAT_NAMES.length;
      let refused = 0;
      for (const copy of mutations(original, { seed: 15, count })) {
        const at = random.below(copy.length + 1);
        const isHostile = random.below(2) === 0;
        const parts = [copy.subarray(0, at), random.pick(HOSTILE), copy.subarray(at)];
        try {
          const bytes = isHostile ? Buffer.concat(parts) : copy;
          for (const result of readFile(format, bytes, 1 + random.below(200))) {
            if (result.kind === 'unit') expect(typeof result.unit.source_text).toBe('string');
            else expect(result.message).not.toBe('');
          }
        } catch (error) {
          refused += 1;
          expect(error).toBeInstanceOf(ExchangeFileError);
          expect((error as ExchangeFileError).message).toMatch(/^line \d+: ./);
        }
      }
      // A mutation that a reader accepts changes a text, and one that it refuses changes the structure.
      expect(refused).toBeGreaterThan(count / 10);
      expect(refused).toBeLessThan(count);
    },
  );
});
