import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MemoryRecord } from '../../src/domain/memory/memory-record.ts';
import { MEMORY_FORMATS } from '../../src/exchange/memory/memory-formats.ts';
import { memoryRecord } from '../support/memory-records.ts';
import { isXmlText } from '../../src/domain/text/xml-characters.ts';
import { readTermFile, termFile, writtenTerm, writtenTerms } from '../support/exchanged-terms.ts';
import { pythonProgram } from '../support/python-tools.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { hasTool } from '../support/tools.ts';

const SCRIPT = resolve(import.meta.dirname, '../support/translate-files.py');
const program = pythonProgram('translation-tools', null);

/** The schemas of TMX and TBX, as Debian's package of OmegaT brings them. */
const SCHEMAS = '/usr/share/omegat/OmegaT.jar';
const hasSchemas = hasTool('xmllint', 'libxml2-utils') && hasTool('unzip', 'unzip') && existsSync(SCHEMAS);
if (!hasSchemas) {
  if (process.env['CI'] === 'true') throw new Error(`${SCHEMAS} is missing; .ci/run must bring it`);
  console.warn('SKIPPED: tests with the schemas of TMX and TBX (on Debian: apt-get install omegat)');
}

/** Generated records with contexts, provenance and texts that XML cannot carry as they are. */
function records(): MemoryRecord[] {
  const text = fc
    .string({ unit: 'binary', minLength: 1, maxLength: 30 })
    .map((value) => value.toWellFormed().replaceAll('\0', ''));
  const plain = text.filter((value) => isXmlText(value));
  const record = fc.record({
    source_text: text,
    target_text: text,
    context: fc.dictionary(plain, plain, { maxKeys: 3 }),
    reviewer: fc.option(plain),
  });
  return fc.sample(record, { seed: 15, numRuns: 100 }).map((values, at) =>
    memoryRecord({
      ...values,
      record_id: `tm_${at}`,
      provenance: {
        origin: 'worker',
        provider: 'fixture',
        provider_run_id: null,
        task_id: 'tt_1',
        unit_id: null,
        release_id: 'r1',
      },
      created_at: 1_700_000_000,
    }),
  );
}

function tmxFile(written: readonly MemoryRecord[]): string {
  const writer = MEMORY_FORMATS.tmx.createWriter('ja', '1.2.3');
  return writer.begin() + written.map((record) => writer.write(record)).join('') + writer.end();
}

function terms() {
  return fc
    .sample(writtenTerms(), { seed: 15, numRuns: 100 })
    .map((term, at) => ({ ...term, term_id: at % 2 === 0 ? `gt_${at}` : `${at} & x` }));
}

describe.skipIf(!hasSchemas)('the schemas of the standards', () => {
  const validate = async (schema: string, option: string, text: string): Promise<void> => {
    const directory = await temporaryDirectory();
    execFileSync('unzip', ['-q', '-j', SCHEMAS, 'schemas/*', '-d', directory]);
    const path = join(directory, 'file.xml');
    writeFileSync(path, text);
    execFileSync('xmllint', ['--nonet', '--noout', option, join(directory, schema), path], { stdio: 'pipe' });
  };

  it('accept TMX with every kind of record, and no record', async () => {
    await validate('tmx14.dtd', '--dtdvalid', tmxFile(records()));
    await validate('tmx14.dtd', '--dtdvalid', tmxFile([]));
  });

  it('accept TBX with every kind of term', async () => {
    await validate('tbx.xsd', '--schema', termFile('tbx', [writtenTerm(), ...terms()]));
    await expect(validate('tbx.xsd', '--schema', '<martif type="TBX"/>')).rejects.toThrow(/xmllint/);
  });
});

describe.skipIf(program === null)('translate-toolkit', () => {
  const run = (...parameters: string[]): string =>
    execFileSync(program ?? '', [SCRIPT, ...parameters], { encoding: 'utf8', stdio: 'pipe' });
  const readBack = async (name: string, text: string): Promise<[string, string, string | null][]> => {
    const path = join(await temporaryDirectory(), name);
    writeFileSync(path, text);
    return JSON.parse(run('read', path)) as [string, string, string | null][];
  };

  it('reads the texts that were written as TMX', async () => {
    const written = records().filter(
      ({ source_text, target_text }) => isXmlText(source_text) && isXmlText(target_text),
    );
    const found = await readBack('memory.tmx', tmxFile(written));
    expect(found.map(([, source, target]) => [source, target])).toEqual(
      written.map(({ source_text, target_text }) => [source_text, target_text]),
    );
  });

  it('reads the terms that were written as TBX, and its changes are read back', async () => {
    const written = terms().filter(({ recommended_translation }) => recommended_translation !== '');
    const text = termFile('tbx', written);
    const found = await readBack('terms.tbx', text);
    expect(found.map(([, source, target]) => [source, target])).toEqual(
      written.map(({ source_term, recommended_translation }) => [source_term, recommended_translation]),
    );
    const directory = await temporaryDirectory();
    const [path, filled] = [join(directory, 'terms.tbx'), join(directory, 'filled.tbx')];
    writeFileSync(path, termFile('tbx', [writtenTerm()]));
    run('fill', path, filled);
    expect(readTermFile('tbx', readFileSync(filled))).toMatchObject([
      { kind: 'term', term: { term_id: writtenTerm().term_id, recommended_translation: 'T:<先生> & "様"' } },
    ]);
  });
});
