import { describe, expect, it } from 'vitest';
import { list, text } from '../../../../../src/cli/dev/demo/unity/unity-type.ts';
import { writeSerializedFile } from '../../../../../src/cli/dev/demo/unity/write-serialized-file.ts';
import { bytesSource, type ByteSource } from '../../../../../src/daemon/formats/byte-source.ts';
import { FormatError } from '../../../../../src/daemon/formats/format-error.ts';
import type { ParsedUnit } from '../../../../../src/daemon/parse/container/parsed-container.ts';
import { createUnitEmitter, unitIdOf } from '../../../../../src/daemon/parse/container/unit-emitter.ts';
import { parseBytes, type ParsedBytes } from '../../../../support/parse-bytes.ts';
import { sampleBehaviour } from '../../../../support/unity-samples.ts';
import { zipOf } from '../../../../support/zip-of.ts';

const GIBIBYTE = 1024 ** 3;

/** A source that has this size and no bytes. */
function unreadable(size: number): ByteSource {
  return {
    size,
    read: () => {
      throw new Error('it was read');
    },
  };
}

const codesOf = ({ outcome }: ParsedBytes): string[] => [...new Set(outcome.issues.map(({ code }) => code))];

describe('the limits of a container', () => {
  it('refuse more than 2 GiB without reading a byte', async () => {
    const parsed = await parseBytes('a.json', unreadable(2 * GIBIBYTE + 1));
    expect(parsed.outcome.status).toBe('failed');
    expect(codesOf(parsed)).toEqual(['container_limit_exceeded']);
  });

  it.each(['json', 'csv', 'tsv', 'text', 'flatbuffers'])(
    'refuse more than 512 MiB of %s, which is read as a whole, without reading a byte',
    async (format) => {
      const rules = [{ destination: ['**'], format, ...(format === 'flatbuffers' && { schema: '/s' }) }];
      const parsed = await parseBytes('a', unreadable(GIBIBYTE / 2 + 1), { configuration: { rules } });
      expect(parsed.outcome.status).toBe('failed');
      expect(codesOf(parsed)).toEqual(['container_limit_exceeded']);
    },
  );

  it('let a file be in four others, and no more', async () => {
    let content: Buffer = await zipOf({ 'a.json': '["あ"]' });
    for (let level = 2; level <= 4; level += 1)
      content = await zipOf({ 'a.zip': content, 'b.json': `["${level}い"]` });
    expect((await parseBytes('a.zip', content)).units.map(({ archiveEntry }) => archiveEntry)).toEqual([
      'a.zip!/a.zip!/a.zip!/a.json',
      'a.zip!/a.zip!/b.json',
      'a.zip!/b.json',
      'b.json',
    ]);
    const deeper = await parseBytes('a.zip', await zipOf({ 'a.zip': content }));
    expect(deeper.units).toHaveLength(3);
    expect(codesOf(deeper)).toEqual(['nesting_too_deep']);
  });

  it('list 1,000 errors and count the others', async () => {
    const { outcome } = await parseBytes('a.csv', `k,t\n${'1\n'.repeat(1500)}2,あ\n`);
    expect(outcome.status).toBe('partial');
    expect(outcome.issues).toHaveLength(1000);
    expect(outcome.skipped).toMatchObject({ errors_not_listed: 500 });
  });

  it('stop at the largest number of units, after all units before it were handed over', async () => {
    const seen: ParsedUnit[] = [];
    const emitter = createUnitEmitter({
      destinationKey: 'a',
      send: async (units) => void seen.push(...units),
      report: () => undefined,
      maxUnits: 1000,
    });
    const location = { archiveEntry: null, pathId: null, classId: null, format: 'json' };
    const emit = async (number: number): Promise<void> => {
      const path = `/${number}`;
      await emitter.emit(location, {
        fieldPath: path,
        keyPath: path,
        sourceText: 'あ',
        speaker: null,
        scene: null,
      });
    };
    for (let number = 0; number < 1000; number += 1) await emit(number);
    await expect(emit(1000)).rejects.toMatchObject({
      name: FormatError.name,
      code: 'container_limit_exceeded',
    });
    await emitter.flush();
    expect(seen).toHaveLength(1000);
  });
});

it('a unit with the id of an earlier one is reported and gets another id', async () => {
  const seen: ParsedUnit[] = [];
  const reports: unknown[] = [];
  const emitter = createUnitEmitter({
    destinationKey: 'a',
    send: async (units) => void seen.push(...units),
    report: (_location, { code }, fieldPath) => void reports.push([code, fieldPath]),
  });
  const location = { archiveEntry: null, pathId: null, classId: null, format: 'json' };
  const text = { keyPath: 'k', sourceText: 'あ', speaker: null, scene: null };
  for (const fieldPath of ['x', 'y', 'y']) await emitter.emit(location, { ...text, fieldPath });
  await emitter.flush();
  expect(new Set(seen.map(({ unitId }) => unitId.toString())).size).toBe(3);
  expect(seen.every(({ unitId, keyPath }) => Buffer.compare(unitId, unitIdOf('a', keyPath)) === 0)).toBe(
    true,
  );
  expect(reports).toEqual([
    ['duplicate_unit_key', 'y'],
    ['duplicate_unit_key', 'y'],
  ]);
});

it('a container stops when its texts and paths together are too long, after all units before', async () => {
  const seen: ParsedUnit[] = [];
  const emitter = createUnitEmitter({
    destinationKey: 'a',
    send: async (units) => void seen.push(...units),
    report: () => undefined,
    maxCharacters: 100,
  });
  const location = { archiveEntry: 'e', pathId: null, classId: null, format: 'json' };
  const text = { fieldPath: '/a/path', keyPath: '/a/key', sourceText: 'あ', speaker: null, scene: null };
  for (let number = 0; number < 6; number += 1) await emitter.emit(location, text);
  await expect(emitter.emit(location, text)).rejects.toMatchObject({
    code: 'container_limit_exceeded',
    message: 'the texts of the container and their paths have more than 100 characters',
  });
  await emitter.flush();
  expect(seen).toHaveLength(6);
});

describe('a long name that many texts share', () => {
  /** UTF-16 code units of the largest batch. */
  async function largestBatch(content: string): Promise<number> {
    let largest = 0;
    const { units, batches } = await parseBytes('a.json', content);
    let first = 0;
    for (const count of batches) {
      const batch = units.slice(first, first + count);
      largest = Math.max(
        largest,
        JSON.stringify(batch, ['fieldPath', 'keyPath', 'sourceText', 'speaker', 'scene']).length,
      );
      first += count;
    }
    return largest;
  }

  it('does not multiply: the key of an object', async () => {
    const content = (length: number): string =>
      JSON.stringify({ ['k'.repeat(length)]: Array.from({ length: 5000 }, () => 'あ') });
    expect(await largestBatch(content(10_000))).toBeLessThan(400_000);
    const refused = await parseBytes('a.json', content(1_000_000));
    expect(refused.units).toEqual([]);
    expect(codesOf(refused)).toEqual(['field_too_large']);
    expect(refused.outcome.skipped).toMatchObject({ errors_not_listed: 4000 });
    expect(JSON.stringify(refused.outcome.issues).length).toBeLessThan(2_000_000);
  });

  it('does not multiply: a speaker', async () => {
    const rows = (speaker: string): string =>
      JSON.stringify({ speaker, rows: Array.from({ length: 2000 }, (_, line) => `あ${line}`) });
    const parsed = await parseBytes('a.json', rows('ホシノ'.repeat(100_000)));
    expect(parsed.units.map(({ speaker }) => speaker)).toEqual(parsed.units.map(() => null));
    expect(await largestBatch(rows('ホシノ'.repeat(300)))).toBeLessThan(400_000);
  });
});

it('an object is not read again for each of its texts', async () => {
  const lines = Array.from({ length: 5000 }, (_, line) => `あ\uFFFD${line}`);
  const dialog = sampleBehaviour(1n, 'n', [list('lines', text('data'))], { lines });
  const source = bytesSource(writeSerializedFile({ version: 22, objects: [dialog] }));
  let reads = 0;
  const counted: ByteSource = {
    size: source.size,
    read: (offset, length) => {
      reads += 1;
      return source.read(offset, length);
    },
  };
  expect((await parseBytes('a', counted)).units).toHaveLength(5000);
  expect(reads).toBeLessThan(20);
});
