import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { UnitRecord } from '../../src/exchange/units/unit-record.ts';
import { isXmlText } from '../../src/exchange/xml/xml-text.ts';
import { fileOf, readFile, sampleUnit, unitRecords } from '../support/exchange-units.ts';
import { pythonProgram } from '../support/python-tools.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { hasXliffSchemas, validateXliff } from '../support/xliff-schemas.ts';

const SCRIPT = resolve(import.meta.dirname, '../support/translate-files.py');
const program = pythonProgram('translation-tools', null);

const FORMATS = ['xliff-1.2', 'xliff-2.1'] as const;

/** Generated units, each with an id of its own. */
function units(format: (typeof FORMATS)[number]): UnitRecord[] {
  return fc
    .sample(unitRecords(format), { seed: 15, numRuns: 60 })
    .flat()
    .map((unit, at) => ({ ...unit, unit_id: `tu1_${at}` }))
    .sort((left, right) => (left.locator.destination < right.locator.destination ? -1 : 1));
}

describe.skipIf(!hasXliffSchemas)('the schemas of the standards', () => {
  it.each(FORMATS)('accept %s with every kind of unit, and no unit', async (format) => {
    const path = join(await temporaryDirectory(), 'units.xlf');
    for (const records of [units(format), []]) {
      writeFileSync(path, await fileOf(format, records));
      await validateXliff(format, path);
    }
  });
});

describe.skipIf(program === null)('translate-toolkit', () => {
  const run = (...parameters: string[]): string =>
    execFileSync(program ?? '', [SCRIPT, ...parameters], { encoding: 'utf8' });

  it.each(FORMATS)('reads the texts that were written as %s', async (format) => {
    const path = join(await temporaryDirectory(), 'units.xlf');
    const records = units(format).filter(
      (unit) => isXmlText(unit.source_text) && isXmlText(unit.target_text ?? ''),
    );
    writeFileSync(path, await fileOf(format, records));
    const found = JSON.parse(run('read', path)) as [string, string, string | null][];
    expect(found.map(([, source, target]) => [source, target ?? ''])).toEqual(
      records.map(({ source_text, target_text }) => [source_text, target_text ?? '']),
    );
    expect(found.map(([id]) => id.split('\u0004').at(-1))).toEqual(records.map(({ unit_id }) => unit_id));
  });

  it.each(FORMATS)('fills targets in %s that are read back', async (format) => {
    const directory = await temporaryDirectory();
    const [path, filled] = [join(directory, 'units.xlf'), join(directory, 'filled.xlf')];
    const records = [
      sampleUnit({ target_text: null, state: 'untranslated' }),
      sampleUnit({ unit_id: 'tu1_b', target_text: '旧', state: 'proofread', note: '注' }),
    ];
    writeFileSync(path, await fileOf(format, records));
    run('fill', path, filled);
    const found = (await readFile(format, readFileSync(filled))).map((result) =>
      result.kind === 'unit' ? result.unit : result,
    );
    expect(found).toEqual([
      expect.objectContaining({
        unit_id: records[0]?.unit_id,
        target_text: `T:${records[0]?.source_text}`,
        state: 'translated',
        locator: records[0]?.locator,
      }),
      expect.objectContaining({ unit_id: 'tu1_b', target_text: `T:${records[1]?.source_text}`, note: '注' }),
    ]);
  });
});
