import { execFileSync } from 'node:child_process';
import { createHash, generateKeyPairSync } from 'node:crypto';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { keyIdOf, loadSigningKeys, loadTrustedKeys } from '../../../src/attestation/keys.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

interface Pem {
  readonly privatePem: string;
  readonly publicPem: string;
  readonly keyId: string;
}

function createPem(): Pem {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return {
    privatePem: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    publicPem: publicKey.export({ type: 'spki', format: 'pem' }),
    keyId: keyIdOf(publicKey),
  };
}

async function writeKey(name: string, text: string, mode = 0o600): Promise<string> {
  const file = join(await temporaryDirectory(), name);
  await writeFile(file, text);
  await chmod(file, mode);
  return file;
}

async function trustedIds(...paths: string[]): Promise<unknown> {
  const loaded = await loadTrustedKeys(paths);
  return loaded.ok ? loaded.value.map(({ keyId }) => keyId) : loaded.error;
}

const EC = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const EC_PRIVATE = EC.privateKey.export({ type: 'pkcs8', format: 'pem' });
const EC_PUBLIC = EC.publicKey.export({ type: 'spki', format: 'pem' });

describe('keyIdOf', () => {
  it('is the SHA-256 of the SPKI DER, the same for both halves', () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const der = publicKey.export({ type: 'spki', format: 'der' });
    expect(keyIdOf(publicKey)).toBe(createHash('sha256').update(der).digest('hex'));
    expect(keyIdOf(privateKey)).toBe(keyIdOf(publicKey));
  });
});

describe('loadTrustedKeys', () => {
  it('reads one or several keys of a file, and each key once', async () => {
    const [one, two] = [createPem(), createPem()];
    const file = await writeKey('keys.pem', `# rotation\n${one.publicPem}\n${two.publicPem}`);
    expect(await trustedIds(file)).toEqual([one.keyId, two.keyId]);
    expect(await trustedIds(file, file)).toEqual([one.keyId, two.keyId]);
  });

  it('reads a directory: only *.pub and *.pem files that are not hidden, in the order of their names', async () => {
    const [one, two] = [createPem(), createPem()];
    const directory = await temporaryDirectory();
    await writeFile(join(directory, 'b.pub'), one.publicPem);
    await writeFile(join(directory, 'a.pem'), two.publicPem);
    await writeFile(join(directory, '.old.pub'), 'nonsense');
    await writeFile(join(directory, 'signing.key'), one.privatePem);
    expect(await trustedIds(directory)).toEqual([two.keyId, one.keyId]);
    await mkdir(join(directory, 'empty'));
    expect(await trustedIds(join(directory, 'empty'))).toEqual([expect.stringMatching(/holds no \*\.pub/)]);
  });

  it.each([
    ['a private key', createPem().privatePem, /is a private key; name the public key instead/],
    ['a key of another kind', EC_PUBLIC, /type ec; attestations are signed with Ed25519/],
    ['a certificate', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----', /is "CERTIFICATE"/],
    ['damaged PEM', createPem().publicPem.replace('MCowBQ', 'MCowB!'), /cannot be decoded/],
    ['nothing', '', /holds no PEM block/],
    ['too much', 'x'.repeat(65_537), /larger than/],
  ])('refuses %s', async (_name, text, message) => {
    const file = await writeKey('key.pub', text);
    expect(await trustedIds(file)).toEqual([expect.stringMatching(message)]);
    expect(String(await trustedIds(file))).toContain(file);
  });

  it('reports every problem together, and that there is no key', async () => {
    const good = await writeKey('key.pub', createPem().publicPem);
    expect(await trustedIds('/nonexistent/a', good, '/nonexistent/b')).toHaveLength(2);
    expect(await trustedIds()).toEqual(['no trusted public key is configured']);
  });

  it('trusts at most 16 keys', async () => {
    const file = await writeKey('keys.pub', Array.from({ length: 17 }, () => createPem().publicPem).join(''));
    expect(await trustedIds(file)).toEqual([expect.stringMatching(/^17 trusted public keys .* at most 16/)]);
  });
});

describe('loadSigningKeys', () => {
  it('keeps the order of the files', async () => {
    const [one, two] = [createPem(), createPem()];
    const files = [await writeKey('one.key', one.privatePem), await writeKey('two.key', two.privatePem)];
    const loaded = await loadSigningKeys(files);
    expect(loaded.ok && loaded.value.keys.map(({ keyId }) => keyId)).toEqual([one.keyId, two.keyId]);
    expect(loaded.ok && loaded.value.warnings).toEqual([]);
  });

  it('warns of a file that everyone can read', async () => {
    const file = await writeKey('one.key', createPem().privatePem, 0o644);
    const loaded = await loadSigningKeys([file]);
    expect(loaded.ok && loaded.value.warnings).toEqual([expect.stringContaining(`${file}: every user`)]);
  });

  it('reads the output of openssl', async () => {
    const file = join(await temporaryDirectory(), 'openssl.key');
    try {
      execFileSync('openssl', ['genpkey', '-algorithm', 'ed25519', '-out', file], { stdio: 'ignore' });
    } catch (error) {
      // openssl may be missing; the format is the same.
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
      await writeFile(file, createPem().privatePem);
    }
    expect((await loadSigningKeys([file])).ok).toBe(true);
  });

  it.each([
    ['a public key', createPem().publicPem, /is a public key; give the private key/],
    ['a key of another kind', EC_PRIVATE, /type ec; .*Ed25519/],
    [
      'an encrypted key',
      generateKeyPairSync('ed25519').privateKey.export({
        type: 'pkcs8',
        format: 'pem',
        cipher: 'aes-256-cbc',
        passphrase: 'x',
      }),
      /is "ENCRYPTED PRIVATE KEY"; give an unencrypted/,
    ],
    ['two keys', createPem().privatePem + createPem().privatePem, /holds 2 PEM blocks; .* exactly one/],
    ['damaged PEM', createPem().privatePem.replace('MC4CAQ', 'MC4CA!'), /cannot be decoded/],
  ])('refuses %s and does not quote it', async (_name, text, message) => {
    const file = await writeKey('one.key', text);
    const loaded = await loadSigningKeys([file]);
    expect(loaded).toEqual({ ok: false, error: [expect.stringMatching(message)] });
    const secret = text.split('\n')[1] ?? '';
    expect(JSON.stringify(loaded)).not.toContain(secret);
  });

  it('reports every file and an empty list', async () => {
    const loaded = await loadSigningKeys(['/nonexistent/a', '/nonexistent/b']);
    expect(!loaded.ok && loaded.error).toHaveLength(2);
    expect(await loadSigningKeys([])).toEqual({ ok: false, error: ['no signing key is configured'] });
  });
});
