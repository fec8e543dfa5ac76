import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { AtEnd } from './shared-fixture.ts';

/** Makes an empty directory that is removed when the running test or its owner ends. */
export async function temporaryDirectory(atEnd: AtEnd = onTestFinished): Promise<string> {
  const directory = await makeDirectory();
  atEnd(async () => {
    // A child of a process that was killed notices it a moment later, and writes until then.
    await rm(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  });
  return directory;
}

async function makeDirectory(): Promise<string> {
  // The real path, because tests compare paths and the system's temporary folder may be a link.
  return await realpath(await mkdtemp(join(tmpdir(), 'slipway-test-')));
}
