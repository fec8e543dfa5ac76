import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FormatName } from '../../src/contract/formats/exchange-formats.ts';
import type { UnitRecord } from '../../src/exchange/units/unit-record.ts';
import { isXmlText } from '../../src/domain/text/xml-characters.ts';
import { fileOf, readFile, sampleUnit, unitRecords, withoutState } from '../support/exchange-units.ts';
import { pythonProgram } from '../support/python-tools.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { hasTool } from '../support/tools.ts';
import { hasXliffSchemas, validateXliff } from '../support/xliff-schemas.ts';

const SCRIPT = resolve(import.meta.dirname, '../support/translate-files.py');
const program = pythonProgram('translation-tools', null);

const FORMATS = ['xliff-1.2', 'xliff-2.1'] as const;
const TOOLKIT_FORMATS = [...FORMATS, 'po'] as const;
/** LibreOffice without a window, with a profile of its own. */
const hasOffice = hasTool('soffice', 'libreoffice-calc-nogui');

/** Generated units, each with an id of its own. */
function units(format: FormatName<'units'>): UnitRecord[] {
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

  it.each(TOOLKIT_FORMATS)('reads the texts that were written as %s', async (format) => {
    const path = join(await temporaryDirectory(), 'units');
    const records = units(format).filter(
      (unit) => format === 'po' || (isXmlText(unit.source_text) && isXmlText(unit.target_text ?? '')),
    );
    writeFileSync(path, await fileOf(format, records));
    const found = JSON.parse(run('read', path)) as [string, string, string | null][];
    expect(found.map(([, source, target]) => [source, target ?? ''])).toEqual(
      // XLIFF 1.2 has a copy of the source in place of a missing target.
      records.map(({ source_text: source, target_text: target }) => [
        source,
        target ?? (format === 'xliff-1.2' ? source : ''),
      ]),
    );
    const idAt = format === 'po' ? 0 : -1;
    expect(found.map(([id]) => id.split('\u0004').at(idAt))).toEqual(records.map(({ unit_id }) => unit_id));
  });

  it.each(TOOLKIT_FORMATS)('fills targets in %s that are read back', async (format) => {
    const directory = await temporaryDirectory();
    const [path, filled] = [join(directory, 'units'), join(directory, 'filled')];
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
        locator: records[0]?.locator,
      }),
      expect.objectContaining({ unit_id: 'tu1_b', target_text: `T:${records[1]?.source_text}`, note: '注' }),
    ]);
  });
});

describe.skipIf(!hasOffice)('LibreOffice', () => {
  it('opens a workbook of units and saves every cell as it was', async () => {
    const directory = await temporaryDirectory();
    const saved = join(directory, 'saved');
    const texts = ['=1+1', "'=1+1", '007', '1/2', '2025-03-04', 'TRUE', 'x_x000D_', ' a ', '𠮷'];
    const records = [
      // It turns returns in a cell with several lines into line feeds.
      ...units('xlsx').filter(
        ({ context: _json, ...texts }) => !JSON.stringify(texts).includes(String.raw`\r`),
      ),
      ...texts.map((text, at) => sampleUnit({ unit_id: `tu2_${at}`, source_text: text, target_text: text })),
    ];
    writeFileSync(join(directory, 'units.xlsx'), await fileOf('xlsx', records));
    const profile = `-env:UserInstallation=${pathToFileURL(join(directory, 'profile')).href}`;
    const filter = 'xlsx:Calc MS Excel 2007 XML';
    const args = [profile, '--headless', '--convert-to', filter, '--outdir', saved];
    execFileSync('soffice', [...args, join(directory, 'units.xlsx')], { stdio: 'pipe' });
    const found = (await readFile('xlsx', readFileSync(join(saved, 'units.xlsx')), 65_536)).map((result) =>
      result.kind === 'unit' ? result.unit : result,
    );
    expect(found).toEqual(records.map(withoutState));
  });
});
