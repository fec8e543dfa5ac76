import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { runExport } from '../../src/cli/bundle/export.ts';
import type { BundleIo } from '../../src/cli/bundle/bundle-io.ts';
import type { AttestedRelease } from '../../src/domain/verdict/attestation.ts';
import { systemClock } from '../../src/platform/process/clock.ts';
import {
  attestationHistoryDirectory,
  attestationHistoryPath,
  attestationPath,
} from '../../src/snapshot/volume/layout.ts';
import { makeStore, type StoredRelease, type TestStore } from './make-store.ts';

/** A store whose attestations are on its volume, and a file with its public key. */
export interface AttestedStore extends TestStore {
  readonly keyFile: string;
  /** Publishes an attestation under which these releases are current. */
  publish(current: Partial<Record<'official' | 'localized', AttestedRelease>>): Promise<Buffer>;
  /** Adds an official release and makes it current. */
  release(release: StoredRelease): Promise<AttestedRelease>;
}

/** Makes an empty store below a folder. */
export async function makeAttestedStore(
  directory: string,
  { storeId = '0f8e1b7a-3c52-4c57-9d1e-6a2f4b8c9d01', issuedAt = Math.floor(Date.now() / 1000) - 60 } = {},
): Promise<AttestedStore> {
  const root = join(directory, 'snapshot');
  const store = await makeStore(root, storeId);
  const keyFile = join(directory, 'signing.pub');
  await writeFile(keyFile, store.publicKeyPem);
  await mkdir(attestationHistoryDirectory(root), { recursive: true });
  let version = 0;
  const publish: AttestedStore['publish'] = async (current) => {
    version += 1;
    const envelope = store.attest({ version, issuedAt: issuedAt + version, ...current });
    await writeFile(attestationHistoryPath(root, version), envelope);
    await writeFile(attestationPath(root), envelope);
    return envelope;
  };
  return {
    ...store,
    keyFile,
    publish,
    release: async (release) => {
      const attested = await store.addRelease(release);
      await publish({ official: attested });
      return attested;
    },
  };
}

/** The outcome of a command. */
export interface CommandRun {
  readonly code: number;
  readonly out: Buffer;
  readonly err: string;
}

/** Runs a command of bundles in this process. */
export async function runBundleCommand(
  run: (argv: readonly string[], io: BundleIo) => Promise<number>,
  ...argv: readonly string[]
): Promise<CommandRun> {
  return await runPipedCommand(run, Readable.from([]), ...argv);
}

/** The same with something on standard input. */
export async function runPipedCommand(
  run: (argv: readonly string[], io: BundleIo) => Promise<number>,
  stdin: Readable,
  ...argv: readonly string[]
): Promise<CommandRun> {
  const pieces: Buffer[] = [];
  let err = '';
  const stdout = new Writable({
    write: (bytes: Buffer, _encoding, done) => {
      pieces.push(Buffer.from(bytes));
      done();
    },
  });
  const stderr = { write: (text: string) => (err += text) };
  const signal = new AbortController().signal;
  const code = await run(argv, { stdin, stdout, stderr, clock: systemClock, signal });
  return { code, out: Buffer.concat(pieces), err };
}

/** Exports a release of a store into a file, and fails where that fails. */
export async function exportBundle(
  store: TestStore,
  releaseId: string,
  file: string,
  ...more: readonly string[]
): Promise<void> {
  const { code, err } = await runBundleCommand(
    runExport,
    releaseId,
    '--data',
    store.root,
    '-o',
    file,
    ...more,
  );
  if (code !== 0) throw new Error(err);
}
