import { parentPort, receiveMessageOnPort, workerData, type Transferable } from 'node:worker_threads';
import { saveCompiledModules } from '../process/process-memory.ts';
import { createCrc64, type Crc64 } from './crc64.ts';
import { FileHasher } from './file-hasher.ts';
import type { BlockJob, FileJob, HashAnswer, HashWorkerData, StageJob } from './hash-protocol.ts';
import { writeNewFile } from '../files/write-new-file.ts';

// Runs in a worker thread of the hash pool. The descriptors are those of the process: the main thread holds them open.

const { urgent, abort } = workerData as HashWorkerData;
const hasher = new FileHasher();
let crc64: Crc64 | null = null;

function answer(message: HashAnswer, transfer: Transferable[] = []): void {
  parentPort?.postMessage(message, transfer);
}

function fail(id: number, error: unknown): void {
  const code =
    error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
  answer({ id, kind: 'failed', message: error instanceof Error ? error.message : String(error), code });
}

function runBlock(job: BlockJob): void {
  try {
    const result = hasher.hashBlock(job);
    answer({ id: job.id, kind: 'block', result }, [result.bytes.buffer]);
  } catch (error) {
    fail(job.id, error);
  }
}

async function runFile(job: FileJob): Promise<void> {
  const between = (): boolean => {
    for (let next = receiveMessageOnPort(urgent); next !== undefined; next = receiveMessageOnPort(urgent)) {
      runBlock(next.message as BlockJob);
    }
    return Atomics.load(abort, 0) !== job.id;
  };
  try {
    if (job.crc64) crc64 ??= await createCrc64();
    const result = between() ? hasher.hashFile(job, job.crc64 ? crc64 : null, between) : null;
    answer(result === null ? { id: job.id, kind: 'aborted' } : { id: job.id, kind: 'file', result });
  } catch (error) {
    fail(job.id, error);
  }
}

async function runStage(job: StageJob): Promise<void> {
  try {
    crc64 ??= await createCrc64();
    const bytes = Buffer.from(job.buffer, 0, job.length);
    const result = hasher.hashBytes(bytes, job.extra, crc64);
    writeNewFile(job.path, bytes);
    answer({ id: job.id, kind: 'staged', result, buffer: job.buffer }, [job.buffer]);
  } catch (error) {
    fail(job.id, error);
  }
}

urgent.on('message', runBlock);
saveCompiledModules();
parentPort?.on('message', (job: FileJob | StageJob) => {
  void (job.kind === 'file' ? runFile(job) : runStage(job));
});
