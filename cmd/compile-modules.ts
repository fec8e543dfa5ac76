#!/usr/bin/env node
import { globSync } from 'node:fs';
import { open } from 'node:fs/promises';
import process from 'node:process';
import {
  collectHeapLess,
  keepProcessSmall,
  saveCompiledModules,
} from '../src/platform/process/process-memory.ts';

// Loads every module that a program or one of its threads loads, and saves what was compiled (NODE_COMPILE_CACHE). Run it
// where programs cannot save that themselves, as the user that they will run as: the image is built so.

async function startThreads(): Promise<void> {
  const { createHashPool } = await import('../src/platform/hashing/hash-pool.ts');
  const pool = createHashPool({ threads: 1 });
  const file = await open(import.meta.filename);
  await pool.hashFile(file.fd, { blocks: false, extra: [] });
  await file.close();
  await pool.close();
  const { createReportThread } = await import('../src/server/admin/reports/report-thread.ts');
  const reports = createReportThread({
    url: 'http://127.0.0.1:1',
    socketPath: undefined,
    tokenFile: undefined,
    timeoutMs: 1_000,
  });
  const { signal } = new AbortController();
  const read = {
    report: 'task.list',
    query: new URLSearchParams(),
    requestId: 'compile',
    via: '',
    signal,
  } as const;
  // No daemon is there; that one was looked for is enough.
  await reports.forward(read).catch(() => undefined);
  await reports.close();
  const { snapshotIdOf } = await import('../src/domain/release/digest.ts');
  const { blake3Hex } = await import('../src/platform/hashing/blake3.ts');
  const { loadManifest } = await import('../src/snapshot/manifest/manifest-loader.ts');
  const { SnapshotFault } = await import('../src/snapshot/volume/snapshot-fault.ts');
  const snapshotId = snapshotIdOf(blake3Hex(Buffer.from('no manifest has this digest')));
  try {
    await loadManifest({ root: import.meta.dirname, snapshotId, checkObjects: false });
  } catch (error) {
    // There is none here; that it was looked for is enough.
    if (!(error instanceof SnapshotFault)) throw error;
  }
}

// As in the programs, before anything else is loaded: what is compiled counts for processes with the same flags of V8.
keepProcessSmall();
for (const name of globSync('*.ts', { cwd: `${import.meta.dirname}/compose` })) {
  await import(`./compose/${name}`);
}
await startThreads();
// A daemon that downloads has other flags, and so have the threads that it starts meanwhile.
const end = collectHeapLess();
await startThreads();
end();
saveCompiledModules();
process.exit();
