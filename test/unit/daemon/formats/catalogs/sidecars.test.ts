import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { patchSidecar } from '../../../../../src/daemon/formats/catalogs/checksum-sidecar.ts';
import { spookyHash } from '../../../../../src/daemon/formats/catalogs/spooky-hash.ts';
import type { BundleChange } from '../../../../../src/daemon/formats/catalogs/bundle-change.ts';
import {
  isUnityManifest,
  patchUnityManifest,
} from '../../../../../src/daemon/formats/catalogs/unity-manifest.ts';

const BEFORE = Buffer.from('{"m_LocatorId":"before"}');
const AFTER = Buffer.from('{"m_LocatorId":"after"}');
const JAPANESE = Buffer.from('{"m_LocatorId":"物語"}');

function spooky(bytes: Buffer): string {
  return spookyHash(bytes).toString('hex');
}

function hash(algorithm: string, bytes: Uint8Array): string {
  return createHash(algorithm).update(bytes).digest('hex');
}

function patched(sidecar: string, before: Buffer, after: Buffer): string | null {
  const result = patchSidecar(Buffer.from(sidecar), before, after);
  return result === null ? null : Buffer.from(result.bytes).toString();
}

describe('a sidecar with the checksum of a catalog', () => {
  it('is computed again by the algorithm that gives the official value', () => {
    for (const algorithm of ['md5', 'sha1', 'sha256', 'sha512']) {
      expect(patched(hash(algorithm, BEFORE), BEFORE, AFTER)).toBe(hash(algorithm, AFTER));
    }
    expect(patched(String(crc32(BEFORE)), BEFORE, AFTER)).toBe(String(crc32(AFTER)));
    // xxHash64 with the seed 0 of no bytes and of "abc", as its specification has them.
    expect(patched('ef46db3751d8e999', Buffer.alloc(0), Buffer.from('abc'))).toBe('44bc2cf5ad770999');
  });

  it('knows the hash that newer versions of Unity use, of text and of UTF-16', () => {
    expect(patched(spooky(BEFORE), BEFORE, AFTER)).toBe(spooky(AFTER));
    const utf16 = Buffer.from(JAPANESE.toString(), 'utf16le');
    expect(patched(spooky(utf16), JAPANESE, AFTER)).toBe(spooky(AFTER));
  });

  it('keeps its case and the white space around it', () => {
    const sidecar = ` ${hash('md5', BEFORE).toUpperCase()}\r\n`;
    expect(patched(sidecar, BEFORE, AFTER)).toBe(` ${hash('md5', AFTER).toUpperCase()}\r\n`);
  });

  it('hashes a text with other characters than ASCII as UTF-16, where the builder did', () => {
    const utf16 = (bytes: Buffer): Buffer => Buffer.from(bytes.toString(), 'utf16le');
    expect(patched(hash('md5', utf16(JAPANESE)), JAPANESE, AFTER)).toBe(hash('md5', AFTER));
    const other = Buffer.from('{"m_LocatorId":"終わり"}');
    expect(patched(hash('md5', utf16(JAPANESE)), JAPANESE, other)).toBe(hash('md5', utf16(other)));
  });

  it('is not guessed when no algorithm gives the official value', () => {
    expect(patched('0'.repeat(32), BEFORE, AFTER)).toBe(null);
    expect(patched('', BEFORE, AFTER)).toBe(null);
    expect(patched(`${hash('md5', BEFORE)} catalog.json`, BEFORE, AFTER)).toBe(null);
  });
});

const MANIFEST = `ManifestFileVersion: 0\r
CRC: 2422268106\r
Hashes:\r
  AssetFileHash:\r
    serializedVersion: 2\r
    Hash: 8b6db55a2344f068cf8a9be0a662ba15\r
  TypeTreeHash:\r
    serializedVersion: 2\r
    Hash: 37ad974993dbaa77485dd2a0c38f347a\r
HashAppended: 0\r
ClassTypes:\r
- Class: 114\r
Assets:\r
- Assets/物語.asset\r
`;

describe('a .manifest of Unity', () => {
  const change: BundleChange = {
    fileName: 'texts',
    before: { size: 10, crc32: 2_422_268_106 },
    after: { size: 12, crc32: 7, contentHash: Buffer.alloc(16, 0xab) },
  };

  it('gets the CRC and the hash of the patched bundle, and keeps everything else', () => {
    expect(isUnityManifest(MANIFEST)).toBe(true);
    const { bytes, listed } = patchUnityManifest(Buffer.from(MANIFEST), change);
    expect(Buffer.from(bytes).toString()).toBe(
      MANIFEST.replace('2422268106', '7').replace('8b6db55a2344f068cf8a9be0a662ba15', 'ab'.repeat(16)),
    );
    expect([...listed]).toEqual(['texts']);
  });

  it('is refused when it states another CRC, and left alone when it is none', () => {
    const other = { ...change, before: { size: 10, crc32: 1 } };
    expect(() => patchUnityManifest(Buffer.from(MANIFEST), other)).toThrow('CRC');
    const text = Buffer.from('CRC: 1\n');
    expect(patchUnityManifest(text, change)).toEqual({ bytes: text, listed: new Set() });
  });
});
