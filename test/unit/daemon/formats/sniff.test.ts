import { describe, expect, it } from 'vitest';
import { SNIFFED_BYTES, sniffFormat } from '../../../../src/daemon/formats/sniff.ts';
import { writeZip } from '../../../support/write-zip.ts';

const utf16 = (text: string): Buffer => Buffer.from(`\uFEFF${text}`, 'utf16le');
const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');
/** The start of a SerializedFile: big endian, version 21 or 22. */
const serialized = (version: number): Buffer => {
  const head = Buffer.alloc(48);
  head.writeUInt32BE(1_000, 0);
  head.writeUInt32BE(version, 8);
  return head;
};

describe('sniffFormat', () => {
  it.each([
    ['unity', bytes('UnityFS\0\0\0\0\u0008'), 'a.json'],
    ['unity', bytes('UnityWeb\0'), 'a'],
    ['unity', bytes('UnityRaw\0'), 'a'],
    ['unity', bytes('UnityArchive\0'), 'a'],
    ['serialized', serialized(21), 'level0'],
    ['serialized', serialized(22), 'a.json'],
    ['zip', writeZip([{ name: 'a' }]), 'a.png'],
    ['zip', writeZip([]), 'a'],
    ['sqlite', bytes('SQLite format 3\0'), 'a.bytes'],
    ['json', Buffer.from('{"a":1}'), 'a.bytes'],
    ['json', Buffer.from('\uFEFF [ {'), 'a'],
    ['json', Buffer.from('not json'), 'a.JSON'],
    ['json', utf16('{"a":1}'), 'a'],
    ['csv', Buffer.from('a,b'), 'folder.d/a.csv'],
    ['csv', Buffer.of(0x8a, 0xbf, 0x2c, 0x31), 'cp932.csv'],
    ['csv', utf16('a,b'), 'a.csv'],
    ['tsv', Buffer.from('a\tb'), 'a.tsv'],
    ['text', Buffer.from('こんにちは'), 'a.bytes'],
    ['text', Buffer.from('[scene] こんにちは'), 'a'],
    ['text', Buffer.from('{0} こんにちは'), 'a'],
    ['text', Buffer.from('RIFF is the first word'), 'readme'],
    ['text', utf16('こんにちは'), 'a'],
    ['text', Buffer.of(0x8a, 0xbf), 'cp932.txt'],
    ['binary', bytes('\u0089PNG\r\n\u001A\n\0'), 'a.txt'],
    ['binary', bytes('\u00FF\u00D8\u00FF\u00E0'), 'a'],
    ['binary', bytes('OggS\0\u0002'), 'a'],
    ['binary', bytes('\0\0\0\u0020ftypisom'), 'a.mp4'],
    ['binary', bytes('RIFF\u0024\0\0\0WAVE'), 'a.wav'],
    ['binary', bytes('\0asm\u0001\0\0\0'), 'a.wasm'],
    ['binary', bytes('\u007FELF\u0002\u0001\u0001\0'), 'a'],
    ['binary', bytes('MZ\u0090\0'), 'a.dll'],
    ['binary', bytes('ID3\u0003\0'), 'a.mp3'],
    ['binary', bytes('@UTF\0\0'), 'a.acb'],
    ['unknown', Buffer.alloc(0), 'a'],
    ['unknown', Buffer.of(1, 2, 3), 'a'],
    ['unknown', Buffer.of(0x8a, 0xbf), 'a'],
    ['unknown', Buffer.of(0x61, 0, 0x62), 'a.txt'],
  ])('finds %s', (format, head, name) => {
    expect(sniffFormat(head, name)).toBe(format);
  });

  it('accepts a head that ends within a character, and ignores what follows the head', () => {
    const text = Buffer.from('あ'.repeat(SNIFFED_BYTES));
    expect(SNIFFED_BYTES % 3).not.toBe(0);
    expect(sniffFormat(text.subarray(0, SNIFFED_BYTES), 'a')).toBe('text');
    expect(sniffFormat(Buffer.concat([text, Buffer.alloc(9)]), 'a')).toBe('text');
  });
});
