import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import process from 'node:process';

export const ROOT = resolve(import.meta.dirname, '../..');

/** Builds cosign at its first use. Keep the version equal to that in docs/development/foreign-tools.md. */
export const COSIGN = 'github.com/sigstore/cosign/v3/cmd/cosign@v3.1.3';

/**
 * Runs a program in the repository; what it complains about is shown.
 *
 * @returns what it printed
 * @throws Error that names the program when it fails
 */
export function run(program: string, args: readonly string[]): string {
  const child = spawnSync(program, args, {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (child.error !== undefined) throw new Error(`${program} cannot be started: ${child.error.message}`);
  if (child.status !== 0)
    throw new Error(`${program} ${args[0] ?? ''} ended with ${child.status ?? child.signal}`);
  return child.stdout.trim();
}

/** Paths of programs that `scripts/kube-tools.sh` builds. */
export function kubeTool(name: 'crane' | 'helm'): string {
  return `${run('scripts/kube-tools.sh', [name])}/${name}`;
}

export function cosign(...args: readonly string[]): string {
  return run('scripts/go-tools.sh', [COSIGN, ...args]);
}

/**
 * How cosign is to sign: with a key nothing is sent to Sigstore, because a key of one's own needs no log to be verified; without
 * one it asks for an identity and writes to the public log.
 */
export function signerOf(key: string): readonly string[] {
  if (key === 'keyless') return ['--yes'];
  return [
    '--yes',
    `--key=${resolve(process.cwd(), key)}`,
    '--tlog-upload=false',
    '--use-signing-config=false',
  ];
}

/** The SHA-256 of a file, in hexadecimal digits. */
export async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}
