import { generateKeyPairSync } from 'node:crypto';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { keyIdOf } from '../../attestation/keys.ts';
import { failure, success, type Result } from '../../domain/result.ts';
import { makeDirectoriesDurably, writeFileDurably } from '../../platform/files/files.ts';
import { noFailpoints } from '../../platform/files/failpoints.ts';
import { messageOf } from '../../platform/errors.ts';
import { parseOptions } from '../../platform/terminal/parse-options.ts';
import type { TextOutput } from '../output/progress-display.ts';
import { usageError } from '../../platform/terminal/usage-error.ts';

/** The help of `slipway keygen`. */
export const KEYGEN_USAGE = `Usage: slipway keygen --out DIR [--force]

Creates an Ed25519 key pair: DIR/signing.key for the daemon (only its owner can read it)
and DIR/signing.pub for verification. Prints the key id.

  --out DIR   output folder; created if it does not exist
  --force     replaces existing keys; what they signed is no longer accepted
`;

/**
 * Runs `slipway keygen`.
 *
 * @param argv the command line after `keygen`
 * @returns the exit code: 0, 1 when the files cannot or must not be written, 2 for wrong arguments
 *
 * Source: RFC 8410 (Ed25519 in PKCS#8 and SPKI), RFC 7468 (PEM).
 */
export async function runKeygen(
  argv: readonly string[],
  io: { readonly stdout: TextOutput; readonly stderr: TextOutput },
): Promise<number> {
  const options = parseKeygenOptions(argv);
  if (!options.ok) {
    io.stderr.write(usageError('slipway keygen', options.error));
    return 2;
  }
  const { out, force, help } = options.value;
  if (help) {
    io.stdout.write(KEYGEN_USAGE);
    return 0;
  }
  const privateFile = join(out, 'signing.key');
  const publicFile = join(out, 'signing.pub');
  try {
    await makeDirectoriesDurably(out, 0o700);
    for (const file of force ? [] : [privateFile, publicFile]) {
      if (!(await exists(file))) continue;
      io.stderr.write(`slipway keygen: ${file} exists; choose another folder, or replace it with --force\n`);
      return 1;
    }
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const privatePem = privateKey.export({ type: 'pkcs8', format: 'pem' });
    const publicPem = publicKey.export({ type: 'spki', format: 'pem' });
    await writeFileDurably(privateFile, privatePem, noFailpoints, 0o600);
    await writeFileDurably(publicFile, publicPem, noFailpoints, 0o644);
    io.stdout.write(
      `key id       ${keyIdOf(publicKey)}\nprivate key  ${privateFile}\npublic key   ${publicFile}\n`,
    );
    return 0;
  } catch (error) {
    io.stderr.write(`slipway keygen: ${messageOf(error)}\n`);
    return 1;
  }
}

function parseKeygenOptions(
  argv: readonly string[],
): Result<{ readonly out: string; readonly force: boolean; readonly help: boolean }, string> {
  const parsed = parseOptions({
    args: [...argv],
    options: {
      out: { type: 'string', default: '' },
      force: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (!parsed.ok) return parsed;
  const { out, force, help } = parsed.value.values;
  return out === '' && !help ? failure('--out DIR is missing') : success({ out, force, help });
}

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}
