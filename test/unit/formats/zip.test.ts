import { execFileSync } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { buffer } from 'node:stream/consumers';
import { crc32, deflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { ZipFile } from 'yazl';
import { createRandom } from '../../../demo/game/seeded-random.ts';
import { bytesSource, fileSource, type ByteSource } from '../../../src/formats/byte-source.ts';
import { FormatError } from '../../../src/formats/format-error.ts';
import { joinPieces, pieceChunks, type OutputPiece } from '../../../src/formats/patch/output-pieces.ts';
import { PatchError } from '../../../src/formats/patch/patch-error.ts';
import { READ_LIMITS, type ReadLimits } from '../../../src/formats/value-visitor.ts';
import { openZip, type ZipArchive } from '../../../src/formats/zip/open-zip.ts';
import { patchZip, type PatchZipOptions } from '../../../src/formats/zip/patch-zip.ts';
import { encryptZipEntry } from '../../support/encrypt-zip-entry.ts';
import { campaignSize } from '../../support/long.ts';
import { mutations } from '../../support/mutate.ts';
import { patchErrorOf } from '../../support/random-edits.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { hasTool } from '../../support/tools.ts';
import { formatErrorOf } from '../../support/value-recorder.ts';
import { writeZip, type ZipInput } from '../../support/write-zip.ts';

const [hasZip, hasUnzip, hasPython] = [hasTool('zip'), hasTool('unzip'), hasTool('python3')];

function open(bytes: Buffer, limits: Partial<ReadLimits> = {}): ZipArchive {
  return openZip(bytesSource(bytes), { ...READ_LIMITS, ...limits });
}

/** The code of the error that reading the first entry throws. */
function entryError(bytes: Buffer, limits: Partial<ReadLimits> = {}, password?: Buffer): string | undefined {
  const archive = open(bytes, limits);
  const [entry] = archive.entries;
  if (entry === undefined) throw new Error('the archive is empty');
  return formatErrorOf(() => archive.readEntry(entry, password))?.code;
}

const one = (fields: Partial<ZipInput> = {}): Buffer =>
  writeZip([{ name: 'a.txt', content: Buffer.from('aaaa bbbb aaaa bbbb'), ...fields }]);

const EXPECTED = {
  'text.json': '{"a":"こんにちは"}',
  '日本語.csv': 'id,text\r\n1,あ\r\n'.repeat(500),
  empty: '',
};

describe('reading ZIP archives', () => {
  const PASSWORD = Buffer.from('ひみつ secret');
  /** In another locale zip does not write names as UTF-8. */
  const ENVIRONMENT = { ...process.env, LC_ALL: 'C.UTF-8', PASSWORD: PASSWORD.toString() };

  function contentsOf(archive: ZipArchive, password?: Buffer): Record<string, string> {
    return Object.fromEntries(
      archive.entries.map((entry) => [entry.name, archive.readEntry(entry, password).toString()]),
    );
  }

  async function folder(): Promise<{ path: string; run: (program: string, ...args: string[]) => string }> {
    const path = await temporaryDirectory();
    await writeFile(join(path, 'text.json'), '{"a":"こんにちは"}');
    await writeFile(join(path, '日本語.csv'), 'id,text\r\n1,あ\r\n'.repeat(500));
    await writeFile(join(path, 'empty'), '');
    return {
      path,
      run: (program, ...args) => execFileSync(program, args, { cwd: path, env: ENVIRONMENT }).toString(),
    };
  }

  describe('archives of other programs', () => {
    it.skipIf(!hasZip)('reads an archive of zip, in memory and from a file', async () => {
      const { path, run } = await folder();
      run('zip', '-q', 'out.zip', ...Object.keys(EXPECTED));
      expect(contentsOf(open(readFileSync(join(path, 'out.zip'))))).toEqual(EXPECTED);
      const descriptor = openSync(join(path, 'out.zip'), 'r');
      expect(contentsOf(openZip(fileSource(descriptor), READ_LIMITS))).toEqual(EXPECTED);
      closeSync(descriptor);
    });

    it.skipIf(!hasZip)('reads a streamed archive of zip, with data descriptors', async () => {
      const { path, run } = await folder();
      run('sh', '-c', 'zip -q - text.json empty | cat > out.zip');
      const archive = open(readFileSync(join(path, 'out.zip')));
      expect(archive.entries[0]?.flags).toBe((archive.entries[0]?.flags ?? 0) | 8);
      expect(contentsOf(archive)).toEqual({ 'text.json': EXPECTED['text.json'], empty: '' });
    });

    it.skipIf(!hasZip).each([
      ['known sizes', 'zip -q -P "$PASSWORD" out.zip text.json 日本語.csv'],
      ['data descriptors', 'zip -q -P "$PASSWORD" - text.json 日本語.csv | cat > out.zip'],
      ['stored entries', 'zip -q -0 -P "$PASSWORD" out.zip text.json 日本語.csv'],
    ])('reads ZipCrypto of zip with %s', async (_title, command) => {
      const { path } = await folder();
      execFileSync('sh', ['-c', command], {
        cwd: path,
        env: ENVIRONMENT,
      });
      const bytes = readFileSync(join(path, 'out.zip'));
      expect(contentsOf(open(bytes), PASSWORD)).toEqual({
        'text.json': EXPECTED['text.json'],
        '日本語.csv': EXPECTED['日本語.csv'],
      });
      expect(entryError(bytes)).toBe('zip_encrypted');
      // About one or two of 256 wrong passwords pass the check of the header; the checksum finds them.
      const errors = Array.from({ length: 1_000 }, (_, attempt) =>
        entryError(bytes, {}, Buffer.from(`wrong ${attempt}`)),
      );
      expect(new Set(errors)).toEqual(new Set(['zip_password_wrong', 'zip_invalid']));
      expect(errors.filter((code) => code === 'zip_invalid').length).toBeLessThan(30);
    });

    it.skipIf(!hasPython)(
      'reads ZIP64 entries, ZIP64 directories and prepended bytes of Python',
      async () => {
        const { path, run } = await folder();
        const script = `
import zipfile
with zipfile.ZipFile('forced.zip', 'w', zipfile.ZIP_DEFLATED) as archive:
    for name in ['text.json', '日本語.csv', 'empty']:
        with archive.open(name, 'w', force_zip64=True) as entry: entry.write(open(name, 'rb').read())
class Pipe:
    def __init__(self): self.bytes = b''
    def write(self, more): self.bytes += more; return len(more)
    def flush(self): pass
pipe = Pipe()
with zipfile.ZipFile(pipe, 'w', zipfile.ZIP_DEFLATED) as archive:
    for name in ['text.json', '日本語.csv', 'empty']:
        with archive.open(name, 'w', force_zip64=True) as entry: entry.write(open(name, 'rb').read())
open('piped.zip', 'wb').write(pipe.bytes)
zipfile.ZIP_FILECOUNT_LIMIT = 2
with zipfile.ZipFile('many.zip', 'w') as archive:
    for name in ['text.json', '日本語.csv', 'empty']: archive.write(name)
open('shifted.zip', 'wb').write(b'self-extractor' * 9 + open('many.zip', 'rb').read())
open('appended.zip', 'wb').write(b'self-extractor' * 9)
with zipfile.ZipFile('appended.zip', 'a') as archive:
    for name in ['text.json', '日本語.csv', 'empty']: archive.write(name)`;
        run('python3', '-c', script);
        for (const name of ['forced', 'piped', 'many', 'shifted', 'appended']) {
          expect({ name, ...contentsOf(open(readFileSync(join(path, `${name}.zip`)))) }).toEqual({
            name,
            ...EXPECTED,
          });
        }
        expect(readFileSync(join(path, 'many.zip')).includes('PK\u0006\u0006')).toBe(true);
      },
    );

    it('reads an archive of yazl, with ZIP64', async () => {
      const zip = new ZipFile();
      zip.addBuffer(Buffer.from('stored'), 'b/ストア.txt', { compress: false });
      zip.addBuffer(Buffer.from('x'.repeat(1000)), 'c.txt', { forceZip64Format: true });
      zip.addEmptyDirectory('d');
      zip.end({ forceZip64Format: true, comment: 'of the archive' });
      const archive = open(await buffer(zip.outputStream));
      expect(contentsOf(archive)).toEqual({ 'b/ストア.txt': 'stored', 'c.txt': 'x'.repeat(1000), 'd/': '' });
    });

    it.skipIf(!hasUnzip)('finds in the archives of the tests what unzip finds', async () => {
      const { path, run } = await folder();
      await writeFile(join(path, 'out.zip'), one({ comment: 'one' }));
      expect(run('unzip', '-p', 'out.zip')).toBe(Object.values(contentsOf(open(one()))).join(''));
    });
  });

  describe('what a copy of an entry needs', () => {
    it('knows the range of each part, so that raw copies give the same archive', () => {
      const content = Buffer.from('content '.repeat(20));
      const bytes = Buffer.concat([
        Buffer.from('before'),
        writeZip([
          { name: 'a', content, comment: 'first', extra: Buffer.of(0xfe, 0xca, 1, 0, 7) },
          { name: 'b/', method: 0 },
          { name: 'c', content, method: 0 },
        ]),
      ]);
      const archive = open(bytes);
      const [first] = archive.entries;
      const ranges = archive.entries.map((entry) => archive.locate(entry));
      expect(ranges[0]?.start).toBe(6);
      expect(ranges.map(({ end }) => end).slice(0, -1)).toEqual(ranges.map(({ start }) => start).slice(1));
      expect(ranges.at(-1)?.end).toBe(first?.recordOffset);
      for (const [index, { dataStart, dataEnd }] of ranges.entries()) {
        expect(dataEnd - dataStart).toBe(archive.entries[index]?.compressedSize);
      }
      const { recordOffset = 0, recordLength = 0 } = first ?? {};
      expect(bytes.subarray(recordOffset, recordOffset + recordLength).includes('first')).toBe(true);
    });
  });

  describe('names', () => {
    const nameOf = (fields: Partial<ZipInput>): string | undefined => open(one(fields)).entries[0]?.name;

    it('decodes UTF-8 by the flag, and code page 437 without it', () => {
      expect(nameOf({ name: '漢.txt' })).toBe('漢.txt');
      expect(nameOf({ name: Buffer.of(0x61, 0x80, 0x9b, 0xe1, 0xff), flags: 0 })).toBe('aÇ¢ß\u00A0');
      // The writer of the tests says that it runs on Unix.
      expect(nameOf({ name: '漢.txt', flags: 0 })).toBe('漢.txt');
    });

    it.skipIf(!hasPython)('decodes code page 437 as Python does', () => {
      const all = Buffer.from(Array.from({ length: 255 }, (_, index) => index + 1));
      const script = "import sys; sys.stdout.buffer.write(bytes(range(1, 256)).decode('cp437').encode())";
      expect(nameOf({ name: all, flags: 0 })).toBe(execFileSync('python3', ['-c', script]).toString());
    });

    it('prefers the Unicode name of Info-ZIP while its checksum fits', () => {
      const name = Buffer.from('xx');
      const unicode = (checksum: number): Buffer => {
        const head = Buffer.alloc(9);
        head.writeUInt16LE(0x70_75, 0);
        head.writeUInt16LE(5 + Buffer.byteLength('漢'), 2);
        head[4] = 1;
        head.writeUInt32LE(checksum, 5);
        return Buffer.concat([head, Buffer.from('漢')]);
      };
      expect(nameOf({ name, flags: 0, extra: unicode(1) })).toBe('xx');
      expect(nameOf({ name, flags: 0, extra: unicode(crc32(name)) })).toBe('漢');
    });

    it('gives absolute names and names with .. as they are', () => {
      const archive = open(writeZip([{ name: '/etc/x' }, { name: '../../x' }, { name: 'C:\\x' }]));
      expect(Object.keys(contentsOf(archive))).toEqual(['/etc/x', '../../x', 'C:\\x']);
    });

    it('does not read an entry whose name another one has, or that has no usable name', () => {
      const archive = open(
        writeZip([
          { name: 'twice', content: Buffer.from('1') },
          { name: 'twice', content: Buffer.from('2') },
          { name: 'a\0b' },
          { name: '' },
          { name: Buffer.of(0xff) },
          { name: 'good' },
        ]),
      );
      expect(archive.entries.map((entry) => formatErrorOf(() => archive.readEntry(entry))?.code)).toEqual([
        ...Array.from({ length: 5 }, () => 'zip_invalid'),
        undefined,
      ]);
    });
  });

  describe('bad input', () => {
    it('accepts an empty archive, and no file that is none', () => {
      expect(open(writeZip([])).entries).toEqual([]);
      for (const bytes of [
        Buffer.alloc(0),
        Buffer.from('PK'),
        Buffer.alloc(100_000),
        Buffer.concat([one(), one(), Buffer.of(0)]),
      ]) {
        expect(formatErrorOf(() => open(bytes))).toEqual({ code: 'zip_invalid', offset: bytes.length });
      }
    });

    it('reads the last of two archives that follow each other, as unzip does', () => {
      const second = writeZip([{ name: 'second' }]);
      expect(open(Buffer.concat([one(), second])).entries.map(({ name }) => name)).toEqual(['second']);
    });

    it.each<[string, Partial<ZipInput>]>([
      ['a wrong CRC-32', { crc32: 1 }],
      ['a size that is too small', { uncompressedSize: 18 }],
      ['a size that is too large', { uncompressedSize: 20 }],
      ['a compressed size that is too small', { compressedSize: 8 }],
      ['a size of zero', { uncompressedSize: 0 }],
      ['a stored entry with two sizes', { method: 0, uncompressedSize: 18 }],
      [
        'bytes behind the compressed data',
        { data: Buffer.concat([deflateRawSync(Buffer.from('aaaa bbbb aaaa bbbb')), Buffer.of(0)]) },
      ],
      ['damaged compressed data', { data: Buffer.from('not deflated at all') }],
      ['another name in the local header', { local: { name: 'b.txt' } }],
      ['another method in the local header', { local: { method: 0 } }],
      ['another size in the local header', { local: { compressedSize: 5 } }],
      ['another CRC-32 in the local header', { local: { crc32: 5 } }],
      ['encryption only in the local header', { local: { flags: 0x08_01 } }],
      ['a missing data descriptor', { flags: 0x08_08 }],
      ['a wrong data descriptor', { flags: 0x08_08, descriptor: Buffer.alloc(16, 'PK\u0007\u0008') }],
      ['data that reach into the directory', { compressedSize: 60 }],
      ['no local header', { localOffset: 4 }],
      ['an offset behind the directory', { localOffset: 10_000 }],
    ])('does not read an entry with %s', (_title, fields) => {
      expect(entryError(one())).toBe(undefined);
      expect(entryError(one(fields))).toBe('zip_invalid');
    });

    it.each([
      ['too few entries', { count: 0 }],
      ['too many entries', { count: 2 }],
      ['a directory that is too large', { size: 60 }],
      ['a directory that begins before the archive', { size: 100_000 }],
      ['a directory that ends elsewhere', { offset: 1_000 }],
      ['an offset of ZIP64 without ZIP64', { offset: 0xff_ff_ff_ff }],
    ])('rejects an archive whose end names %s', (_title, end) => {
      expect(formatErrorOf(() => open(writeZip([{ name: 'a.txt' }], end)))?.code).toBe('zip_invalid');
    });

    it('rejects a ZIP64 value that is missing', () => {
      expect(formatErrorOf(() => open(one({ compressedSize: 0xff_ff_ff_ff })))?.code).toBe('zip_invalid');
    });

    it('does not read entries that overlap, so that no byte is decompressed twice', () => {
      const content = Buffer.from('kernel '.repeat(100));
      const shared = open(
        writeZip([
          { name: 'a', content },
          { name: 'b', content, localOffset: 0 },
        ]),
      );
      expect(shared.entries.map((entry) => formatErrorOf(() => shared.readEntry(entry))?.code)).toEqual([
        'zip_invalid',
        'zip_invalid',
      ]);
      // An entry that is quoted inside of another one.
      const inner = one();
      const quoted = open(
        writeZip([
          { name: 'outer', content: inner, method: 0 },
          { name: 'a.txt', content: Buffer.from('aaaa bbbb aaaa bbbb'), localOffset: 35 },
        ]),
      );
      expect(quoted.entries.map((entry) => formatErrorOf(() => quoted.readEntry(entry))?.code)).toEqual([
        'zip_invalid',
        undefined,
      ]);
    });

    it.each<[string, Partial<ZipInput>]>([
      ['an unknown method', { method: 12 }],
      ['AES', { method: 99, flags: 0x08_01 }],
      ['strong encryption', { flags: 0x08_41 }],
      ['masked headers', { flags: 0x28_00 }],
      ['patched data', { flags: 0x08_20 }],
    ])('does not support %s', (_title, fields) => {
      expect(entryError(one(fields), {}, PASSWORD)).toBe('zip_method_unsupported');
    });

    it('rejects an encrypted entry without its header', () => {
      expect(entryError(one({ flags: 0x08_01, data: Buffer.alloc(11) }), {}, PASSWORD)).toBe('zip_invalid');
    });

    it('has a limit on entries, on sizes and on the ratio', () => {
      const two = writeZip([{ name: 'a' }, { name: 'b' }]);
      expect(formatErrorOf(() => open(two, { elements: 2 }))).toBe(null);
      expect(formatErrorOf(() => open(two, { elements: 1 }))?.code).toBe('zip_limit_exceeded');
      expect(entryError(one(), { entryBytes: 19 })).toBe(undefined);
      expect(entryError(one(), { entryBytes: 18 })).toBe('zip_limit_exceeded');
      expect(entryError(one({ compressedSize: 2 ** 31 }), {})).toBe('zip_limit_exceeded');
      const zeros = one({ content: Buffer.alloc(100_000) });
      expect(entryError(zeros)).toBe('zip_limit_exceeded');
      expect(entryError(zeros, { ratio: 2_000 })).toBe(undefined);
    });

    it('stops a bomb that lies about its size, within bounded memory', () => {
      const data = deflateRawSync(Buffer.alloc(256 * 1024 * 1024));
      const bomb = one({ data, uncompressedSize: 1000 });
      const before = process.memoryUsage().rss;
      expect(entryError(bomb)).toBe('zip_invalid');
      expect(process.memoryUsage().rss - before).toBeLessThan(32 * 1024 * 1024);
    });

    it('rejects an archive that is cut anywhere, and a directory that is cut behind a part of its entries', () => {
      const content = Buffer.from(Array.from({ length: 4_000 }, (_, index) => (index * index) % 251));
      const bytes = writeZip(Array.from({ length: 10 }, (_, index) => ({ name: `entry-${index}`, content })));
      for (let size = 0; size < bytes.length; size += 64) {
        expect(formatErrorOf(() => open(bytes.subarray(0, size)))?.code).toBe('zip_invalid');
      }
    });

    it('reads or rejects every damaged archive, with and without ZIP64', async () => {
      const content = Buffer.from('{"text":"こんにちは、世界"}'.repeat(20));
      const plain = writeZip([
        { name: 'stored.json', content, method: 0 },
        { name: 'deflated.json', content, comment: 'x' },
        { name: 'c', content: Buffer.alloc(3_000, 'ab') },
      ]);
      const zip = new ZipFile();
      zip.addBuffer(content, 'deflated.json', { forceZip64Format: true });
      zip.addBuffer(content, 'stored.json', { forceZip64Format: true, compress: false });
      zip.end({ forceZip64Format: true, comment: '' });
      const long = await buffer(zip.outputStream);
      const half = campaignSize(300, 20_000);
      const codes = new Map<string, number>();
      const count = (code: string): unknown => codes.set(code, (codes.get(code) ?? 0) + 1);
      for (const damaged of [
        ...mutations(plain, { seed: 14, count: half }),
        ...mutations(long, { seed: 15, count: half }),
      ]) {
        let archive: ZipArchive | null = null;
        const code = formatErrorOf(() => {
          archive = open(damaged);
        })?.code;
        if (code !== undefined) count(code);
        for (const entry of (archive as ZipArchive | null)?.entries ?? []) {
          count(formatErrorOf(() => archive?.readEntry(entry, PASSWORD))?.code ?? 'read');
        }
      }
      expect([...codes.keys()].toSorted()).toEqual([
        'read',
        'zip_invalid',
        'zip_limit_exceeded',
        'zip_method_unsupported',
      ]);
    });
  });

  describe('an encrypted entry', () => {
    const content = Buffer.from('ありがとう。'.repeat(20));
    const archive = (): Buffer => writeZip([encryptZipEntry('a.txt', content, PASSWORD)]);

    it('whose data is damaged is not taken for one with a wrong password', () => {
      const bytes = archive();
      const at = bytes.indexOf('a.txt') + 'a.txt'.length + 40;
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      expect(entryError(bytes, {}, PASSWORD)).toBe('zip_invalid');
      expect(entryError(bytes, {}, Buffer.from('wrong'))).toBe('zip_password_wrong');
    });
  });
});

const CONTENT = Buffer.from('the content of an entry, again: the content of an entry');

function uint(bytes: 4 | 8, ...values: number[]): Buffer {
  const written = Buffer.alloc(bytes * values.length);
  for (const [index, value] of values.entries()) {
    if (bytes === 4) written.writeUInt32LE(value, 4 * index);
    else written.writeBigUInt64LE(BigInt(value), 8 * index);
  }
  return written;
}

const DEFLATED = deflateRawSync(CONTENT);
const SIZES = [DEFLATED.length, CONTENT.length] as const;
const described = (name: string, descriptor: Buffer): ZipInput => ({
  name,
  content: CONTENT,
  flags: 0x08_08,
  local: { crc32: 0, compressedSize: 0 },
  descriptor,
});

function rawOf(bytes: Buffer, name: string): Buffer {
  const archive = openZip(bytesSource(bytes), READ_LIMITS);
  const entry = archive.entries.find((each) => each.name === name);
  if (entry === undefined) throw new Error(`no entry ${name}`);
  const { start, end } = archive.locate(entry);
  return bytes.subarray(start, end);
}

describe('patchZip', () => {
  const PASSWORD = Buffer.from('秘密');

  const OPTIONS: PatchZipOptions = { passwordOf: () => PASSWORD };

  const INPUTS: readonly ZipInput[] = [
    {
      name: 'stored.txt',
      content: CONTENT,
      method: 0,
      extra: Buffer.from('55540500030000000000', 'hex').subarray(0, 9),
    },
    { name: 'folder/', content: Buffer.alloc(0), method: 0 },
    { name: 'deflated.txt', content: CONTENT, comment: 'a comment', descriptor: Buffer.from('gap!') },
    described('short.txt', Buffer.concat([uint(4, crc32(CONTENT)), uint(4, ...SIZES)])),
    described('signed.txt', Buffer.concat([uint(4, 0x08_07_4b_50, crc32(CONTENT)), uint(4, ...SIZES)])),
    described('long.txt', Buffer.concat([uint(4, 0x08_07_4b_50, crc32(CONTENT)), uint(8, ...SIZES)])),
    encryptZipEntry('encrypted.txt', CONTENT, PASSWORD),
    {
      name: 'zip64.txt',
      content: CONTENT,
      compressedSize: 0xff_ff_ff_ff,
      uncompressedSize: 0xff_ff_ff_ff,
      extra: Buffer.concat([Buffer.of(1, 0, 16, 0), uint(8, SIZES[1], SIZES[0])]),
    },
  ];
  const ARCHIVE = writeZip(INPUTS, { comment: 'of the archive' });
  const NAMES = INPUTS.map(({ name }) => String(name)).filter((name) => !name.endsWith('/'));

  function contentsOf(source: ByteSource): Map<string, string> {
    const archive = openZip(source, READ_LIMITS);
    return new Map(
      archive.entries.map((entry) => [entry.name, archive.readEntry(entry, PASSWORD).toString('latin1')]),
    );
  }

  function patch(bytes: Buffer, contents: ReadonlyMap<string, Uint8Array>, options = OPTIONS): Buffer {
    const patches = new Map([...contents].map(([name, content]) => [name, () => content]));
    return joinPieces(patchZip(bytesSource(bytes), patches, options));
  }

  /** The contents of the entries that can be read. */
  function readable(bytes: Buffer): Map<string, string> {
    const archive = openZip(bytesSource(bytes), READ_LIMITS);
    return new Map(
      archive.entries.flatMap((entry): [string, string][] => {
        try {
          return [[entry.name, archive.readEntry(entry, PASSWORD).toString('latin1')]];
        } catch (error) {
          if (error instanceof FormatError) return [];
          throw error;
        }
      }),
    );
  }

  it('writes the same bytes when nothing is patched', () => {
    expect(patch(ARCHIVE, new Map()).equals(ARCHIVE)).toBe(true);
    expect(patch(writeZip([]), new Map()).equals(writeZip([]))).toBe(true);
  });

  it.for(NAMES)('replaces %s in its own form, and keeps all other bytes', (name) => {
    const content = Buffer.from('new '.repeat(50));
    const patched = patch(ARCHIVE, new Map([[name, content]]));
    const expected = contentsOf(bytesSource(ARCHIVE)).set(name, content.toString());
    expect(contentsOf(bytesSource(patched))).toEqual(expected);
    for (const other of NAMES.filter((each) => each !== name)) {
      expect(rawOf(patched, other).equals(rawOf(ARCHIVE, other))).toBe(true);
    }
    const [before, after] = [ARCHIVE, patched].map((bytes) =>
      openZip(bytesSource(bytes), READ_LIMITS).entries.map(({ name: each, method, flags, modifiedTime }) => [
        each,
        method,
        flags,
        modifiedTime,
      ]),
    );
    expect(after).toEqual(before);
    expect(patched.subarray(-14).toString()).toBe('of the archive');
    expect(patch(ARCHIVE, new Map([[name, content]])).equals(patched)).toBe(true);
    const changedBack = patch(patched, new Map([[name, CONTENT]]));
    // The compression and the encryption of the original are those of another program.
    if (name !== 'encrypted.txt')
      expect(contentsOf(bytesSource(changedBack))).toEqual(contentsOf(bytesSource(ARCHIVE)));
  });

  it('keeps the bytes before the archive and between entries', () => {
    const shifted = Buffer.concat([Buffer.from('#!/bin/sh\n'), ARCHIVE]);
    const patched = patch(
      shifted,
      new Map([
        ['stored.txt', Buffer.from('x')],
        ['deflated.txt', Buffer.from('y')],
      ]),
    );
    expect(patched.subarray(0, 10).toString()).toBe('#!/bin/sh\n');
    expect(contentsOf(bytesSource(patched)).get('zip64.txt')).toBe(CONTENT.toString());
    expect(rawOf(patched, 'deflated.txt').subarray(-4).toString()).toBe('gap!');
  });

  it('encrypts with a header that depends on the content alone', () => {
    const [one, two] = ['one', 'two'].map((text) =>
      patch(ARCHIVE, new Map([['encrypted.txt', Buffer.from(text)]])),
    );
    const headers = [one, two].map((bytes) =>
      rawOf(bytes ?? ARCHIVE, 'encrypted.txt').subarray(30 + 13, 30 + 13 + 12),
    );
    expect(headers[0]).not.toEqual(headers[1]);
    expect(patchErrorOf(() => patch(ARCHIVE, new Map([['none', CONTENT]])))).toEqual({
      code: 'place_not_found',
      fieldPath: 'none',
    });
    expect(() => patch(ARCHIVE, new Map([['encrypted.txt', CONTENT]]), {})).toThrow('no password');
  });

  it('compresses less what would look like a bomb', () => {
    const zeros = Buffer.alloc(4_000_000);
    const patched = patch(ARCHIVE, new Map([['deflated.txt', zeros]]));
    expect(contentsOf(bytesSource(patched)).get('deflated.txt')?.length).toBe(zeros.length);
    const limits = { ...READ_LIMITS, entryBytes: 1000 };
    expect(
      patchErrorOf(() => patch(ARCHIVE, new Map([['stored.txt', zeros]]), { ...OPTIONS, limits }))?.code,
    ).toBe('file_too_large');
  });

  it('moves offsets beyond 4 GiB into ZIP64, in an archive that had none', () => {
    const inputs: ZipInput[] = [
      { name: 'a', content: CONTENT, method: 0 },
      { name: 'b', content: CONTENT, comment: 'of b' },
    ];
    const dense = writeZip(inputs);
    const second = openZip(bytesSource(dense), READ_LIMITS).entries[1]?.localOffset ?? 0;
    const gap = 2 ** 32 - 300 - second;
    const moved = inputs.map((input, at) => (at === 1 ? { ...input, localOffset: second + gap } : input));
    const directory = openZip(bytesSource(dense), READ_LIMITS).directory.start + gap;
    const tail = writeZip(moved, { offset: directory }).subarray(second);
    // The gap is zeros that exist only when they are read.
    const sparse = sourceOf([
      { source: bytesSource(dense), offset: 0, length: second },
      { source: { size: gap, read: (_offset, length) => Buffer.alloc(length) }, offset: 0, length: gap },
      { source: bytesSource(tail), offset: 0, length: tail.length },
    ]);
    const content = Buffer.alloc(5000, 'grown');
    const patched = sourceOf([...patchZip(sparse, new Map([['a', () => content]]))]);
    const archive = openZip(patched, READ_LIMITS);
    expect(archive.directory.zip64End).not.toBe(null);
    expect(archive.entries[1]?.localOffset).toBeGreaterThan(2 ** 32);
    expect([...contentsOf(patched).values()]).toEqual([content.toString(), CONTENT.toString()]);
    // And back, which leaves the ZIP64 records with smaller values.
    const back = sourceOf([...patchZip(patched, new Map([['a', () => CONTENT]]))]);
    expect([...contentsOf(back).values()]).toEqual([CONTENT.toString(), CONTENT.toString()]);
  });

  it('copies entries in chunks', () => {
    const large = Buffer.alloc(8 * 1024 * 1024, 'large');
    const archive = writeZip([
      { name: 'large', content: large, method: 0 },
      { name: 'small', content: CONTENT },
    ]);
    const patches = new Map([['small', () => Buffer.from('s')]]);
    const sizes = Array.from(pieceChunks(patchZip(bytesSource(archive), patches)), ({ length }) => length);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(1024 * 1024);
  });

  it('reads back exactly, whatever is patched', () => {
    for (let seed = 1; seed <= 100; seed += 1) {
      const random = createRandom(seed);
      const contents = new Map(
        NAMES.filter(() => random.below(2) === 0).map((name) => [
          name,
          random.bytes(random.pick([0, 1, 100, 70_000])),
        ]),
      );
      const expected = contentsOf(bytesSource(ARCHIVE));
      for (const [name, content] of contents) expected.set(name, content.toString('latin1'));
      expect(contentsOf(bytesSource(patch(ARCHIVE, contents)))).toEqual(expected);
    }
  });

  it('refuses damaged archives, or changes only the patched entry', () => {
    let patchedArchives = 0;
    for (const damaged of mutations(ARCHIVE, { seed: 1, count: 1000 })) {
      try {
        const patched = patch(damaged, new Map([['deflated.txt', Buffer.from('new content')]]));
        const [before, after] = [damaged, patched].map((bytes) => readable(bytes));
        expect(after).toEqual(before?.set('deflated.txt', 'new content'));
        patchedArchives += 1;
      } catch (error) {
        if (!(error instanceof FormatError || error instanceof PatchError)) throw error;
      }
    }
    expect(patchedArchives).toBeGreaterThan(20);
  });
});

/** The bytes of pieces, without joining them. */
function sourceOf(pieces: readonly OutputPiece[]): ByteSource {
  const size = pieces.reduce((sum, { length }) => sum + length, 0);
  return {
    size,
    read: (offset, length) => {
      const parts: Buffer[] = [];
      let start = 0;
      for (const piece of pieces) {
        const from = Math.max(offset, start);
        const to = Math.min(offset + length, start + piece.length);
        if (from < to) parts.push(piece.source.read(piece.offset + from - start, to - from));
        start += piece.length;
      }
      return Buffer.concat(parts);
    },
  };
}
