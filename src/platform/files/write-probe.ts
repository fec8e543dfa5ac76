import { join } from 'node:path';
import { open, rm } from './file-changes.ts';

/** Writes a small file into a folder and removes it again. @throws the error with which the folder refuses it */
export async function writeProbe(directory: string, name: string): Promise<void> {
  const path = join(directory, name);
  const handle = await open(path, 'w', 0o600);
  try {
    await handle.writeFile('doctor\n');
  } finally {
    await handle.close();
    await rm(path, { force: true });
  }
}
