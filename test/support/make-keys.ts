import { runKeygen } from '../../src/cli/keygen/keygen.ts';

/** Makes a signing key pair in a folder, `signing.key` and `signing.pub`, without output. */
export async function makeKeys(directory: string): Promise<void> {
  const discard = { write: () => true };
  const code = await runKeygen(['--out', directory], { stdout: discard, stderr: discard });
  if (code !== 0) throw new Error(`keygen ended with ${code}`);
}
