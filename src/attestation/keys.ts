import { createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { failure, success, type Result } from '../domain/result.ts';
import { readBoundedFile } from '../platform/files/files.ts';
import { messageOf } from '../platform/errors.ts';

export interface TrustedKey {
  /** SHA-256 of the SPKI DER, lower-case hexadecimal. */
  readonly keyId: string;
  readonly publicKey: KeyObject;
}

export interface SigningKey {
  /** SHA-256 of the SPKI DER of its public half, lower-case hexadecimal. */
  readonly keyId: string;
  readonly privateKey: KeyObject;
}

/** Signing keys, and what about their files deserves a word in the log. */
export interface LoadedSigningKeys {
  readonly keys: readonly SigningKey[];
  readonly warnings: readonly string[];
}

/** Maximum number of trusted keys, and of signing keys. */
const MAX_KEYS = 16;

const KEY_FILE_MAX_BYTES = 64 * 1024;
const PEM_BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----[\s\S]*?-----END \1-----/g;
const PUBLIC_FILE = /^[^.].*\.(?:pub|pem)$/;
const OTHERS_MAY_READ = 0o004;

/**
 * The id of a key: SHA-256 over the DER of its public half's SubjectPublicKeyInfo, lower-case hexadecimal.
 *
 * @param key the private or the public half
 *
 * Source: RFC 5280, section 4.1 (SubjectPublicKeyInfo).
 */
export function keyIdOf(key: KeyObject): string {
  const publicKey = key.type === 'private' ? createPublicKey(key) : key;
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('hex');
}

/**
 * Loads the keys that sign: one unencrypted PKCS#8 PEM block (`BEGIN PRIVATE KEY`) of Ed25519 in each file.
 *
 * @param files in the order in which they sign
 * @returns the keys, or every problem found, each naming the file and what to do
 */
export async function loadSigningKeys(
  files: readonly string[],
): Promise<Result<LoadedSigningKeys, readonly string[]>> {
  const keys = new Map<string, SigningKey>();
  const warnings: string[] = [];
  const problems: string[] = [];
  for (const file of files) {
    const key = await loadSigningKey(file);
    if (!key.ok) {
      problems.push(key.error);
      continue;
    }
    keys.set(key.value.keyId, key.value);
    if (((await stat(file)).mode & OTHERS_MAY_READ) !== 0) {
      warnings.push(`${file}: every user of this machine can read the private key; run chmod 600 on it`);
    }
  }
  problems.push(...countProblems(keys.size, problems.length, 'signing'));
  return problems.length > 0 ? failure(problems) : success({ keys: [...keys.values()], warnings });
}

/**
 * Loads the keys that are trusted: SPKI PEM blocks (`BEGIN PUBLIC KEY`) of Ed25519, one or several in a file.
 *
 * @param paths files, or directories of which every `*.pub` and `*.pem` is read
 * @returns the keys without repetition, or every problem found, each naming the file and what to do
 */
export async function loadTrustedKeys(
  paths: readonly string[],
): Promise<Result<readonly TrustedKey[], readonly string[]>> {
  const keys = new Map<string, TrustedKey>();
  const problems: string[] = [];
  for (const path of paths) {
    const files = await publicFiles(path);
    if (!files.ok) problems.push(files.error);
    for (const file of files.ok ? files.value : []) {
      const blocks = await readPem(file);
      const results = blocks.ok ? blocks.value.map((block) => parseTrustedKey(file, block)) : [blocks];
      for (const result of results) {
        if (result.ok) keys.set(result.value.keyId, result.value);
        else problems.push(result.error);
      }
    }
  }
  problems.push(...countProblems(keys.size, problems.length, 'trusted public'));
  return problems.length > 0 ? failure(problems) : success([...keys.values()]);
}

interface PemBlock {
  readonly label: string;
  readonly text: string;
}

async function loadSigningKey(file: string): Promise<Result<SigningKey, string>> {
  const blocks = await readPem(file);
  if (!blocks.ok) return blocks;
  const [block, second] = blocks.value;
  if (block === undefined || second !== undefined) {
    return failure(`${file}: holds ${blocks.value.length} PEM blocks; a signing key file holds exactly one`);
  }
  if (block.label === 'PUBLIC KEY') {
    return failure(`${file}: is a public key; give the private key (BEGIN PRIVATE KEY) to sign with`);
  }
  if (block.label !== 'PRIVATE KEY') {
    return failure(
      `${file}: is "${block.label}"; give an unencrypted PKCS#8 Ed25519 key (BEGIN PRIVATE KEY), such as slipway keygen creates`,
    );
  }
  const privateKey = parseKey(file, () => createPrivateKey(block.text));
  return privateKey.ok
    ? success({ keyId: keyIdOf(privateKey.value), privateKey: privateKey.value })
    : privateKey;
}

function parseTrustedKey(file: string, block: PemBlock): Result<TrustedKey, string> {
  if (block.label.includes('PRIVATE KEY')) {
    return failure(
      `${file}: is a private key; name the public key instead (signing.pub beside it): who verifies needs no private key, and must not have the private key of another machine`,
    );
  }
  if (block.label !== 'PUBLIC KEY') {
    return failure(`${file}: is "${block.label}"; give an Ed25519 public key (BEGIN PUBLIC KEY)`);
  }
  const publicKey = parseKey(file, () => createPublicKey(block.text));
  return publicKey.ok ? success({ keyId: keyIdOf(publicKey.value), publicKey: publicKey.value }) : publicKey;
}

function parseKey(file: string, parse: () => KeyObject): Result<KeyObject, string> {
  let key: KeyObject;
  try {
    key = parse();
  } catch {
    // The reason comes from OpenSSL and says nothing that helps; a private key must not be quoted.
    return failure(`${file}: the PEM block cannot be decoded; it is damaged or of an unknown kind`);
  }
  if (key.asymmetricKeyType !== 'ed25519') {
    return failure(
      `${file}: is a key of type ${key.asymmetricKeyType ?? 'unknown'}; attestations are signed with Ed25519, create a key with slipway keygen`,
    );
  }
  return success(key);
}

async function readPem(file: string): Promise<Result<readonly PemBlock[], string>> {
  let text: string;
  try {
    text = (await readBoundedFile(file, KEY_FILE_MAX_BYTES)).toString('latin1');
  } catch (error) {
    return failure(`${file}: cannot be read: ${messageOf(error)}`);
  }
  const blocks = [...text.matchAll(PEM_BLOCK)].map(([text, label = '']) => ({ label, text }));
  return blocks.length > 0
    ? success(blocks)
    : failure(`${file}: holds no PEM block; create a key with slipway keygen`);
}

async function publicFiles(path: string): Promise<Result<readonly string[], string>> {
  try {
    if (!(await stat(path)).isDirectory()) return success([path]);
    const names = (await readdir(path)).filter((name) => PUBLIC_FILE.test(name)).sort();
    return names.length > 0
      ? success(names.map((name) => join(path, name)))
      : failure(`${path}: the directory holds no *.pub or *.pem file`);
  } catch (error) {
    return failure(`${path}: cannot be read: ${messageOf(error)}`);
  }
}

function countProblems(count: number, problems: number, kind: string): string[] {
  if (count > MAX_KEYS) return [`${count} ${kind} keys are configured; at most ${MAX_KEYS} are used`];
  return count === 0 && problems === 0 ? [`no ${kind} key is configured`] : [];
}

export function trustedKeysOf(keys: readonly SigningKey[]): readonly TrustedKey[] {
  return keys.map(({ keyId, privateKey }) => ({ keyId, publicKey: createPublicKey(privateKey) }));
}
