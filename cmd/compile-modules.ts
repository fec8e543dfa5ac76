#!/usr/bin/env node
import { globSync } from 'node:fs';
import { open } from 'node:fs/promises';
import process from 'node:process';
import { snapshotIdOf } from '../src/domain/digest.ts';
import { blake3Hex } from '../src/platform/hashing/blake3.ts';
import { createHashPool } from '../src/platform/hashing/hash-pool.ts';
import { collectHeapLess, keepProcessSmall, saveCompiledModules } from '../src/platform/process-memory.ts';
import { loadManifest } from '../src/snapshot/manifest-loader.ts';
import { SnapshotFault } from '../src/snapshot/snapshot-fault.ts';

// Loads every module that a program or one of its threads loads, and saves what was compiled (NODE_COMPILE_CACHE). Run it
// where programs cannot save that themselves, as the user that they will run as: the image is built so.

async function startThreads(): Promise<void> {
  const pool = createHashPool({ threads: 1 });
  const file = await open(import.meta.filename);
  await pool.hashFile(file.fd, { blocks: false, extra: [] });
  await file.close();
  await pool.close();
  const snapshotId = snapshotIdOf(blake3Hex(Buffer.from('no manifest has this digest')));
  try {
    await loadManifest({ root: import.meta.dirname, snapshotId, checkObjects: false });
  } catch (error) {
    // There is none here; that it was looked for is enough.
    if (!(error instanceof SnapshotFault)) throw error;
  }
}

keepProcessSmall();
for (const name of globSync('*.ts', { cwd: `${import.meta.dirname}/compose` })) {
  await import(`./compose/${name}`);
}
await startThreads();
// What is compiled counts for processes with the same flags of V8 only, and a daemon that downloads has others.
const end = collectHeapLess();
await startThreads();
end();
saveCompiledModules();
process.exit();
