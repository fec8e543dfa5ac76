import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AtEnd } from './shared-fixture.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** Writes a token to a file with a final line break, as an editor does; returns its path. */
export async function writeTokenFile(token: string, atEnd?: AtEnd): Promise<string> {
  const file = join(await temporaryDirectory(atEnd), 'token');
  await writeFile(file, `${token}\n`, { mode: 0o600 });
  return file;
}
