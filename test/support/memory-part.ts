import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { memoryConfigurationSchema } from '../../src/localization/memory/memory-config.ts';
import { createMemory, type Memory } from '../../src/localization/memory/memory.ts';
import { createUlidFactory } from '../../src/platform/process/ids.ts';
import { createEvents, type Events } from '../../src/engine/events/events.ts';
import type { RecordsSuperseded } from '../../src/localization/text-events.ts';
import { PAIR } from './memory-records.ts';
import { createTestEngine, type TestEngine } from './task-engine.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** A Translation Memory as a part of the daemon, with its jobs in an engine. */
export interface TestMemory extends TestEngine {
  readonly memory: Memory;
  readonly dataDirectory: string;
  readonly events: Events<RecordsSuperseded>;
  /** The folder of exchanged files; it does not exist yet. */
  readonly exchangeRoot: string;
}

/**
 * Creates a Translation Memory on a folder of its own, closed when the test ends.
 *
 * @param spoil changes the folder before
 */
export async function startMemory(spoil: (folder: string) => void = () => undefined): Promise<TestMemory> {
  const dataDirectory = await temporaryDirectory();
  spoil(dataDirectory);
  const world = createTestEngine();
  const { engine, clock } = world;
  const exchangeRoot = join(dataDirectory, 'exchange');
  const events = createEvents<RecordsSuperseded>();
  let made = 0;
  const memory = createMemory({
    dataDirectory,
    engine,
    clock,
    createId: createUlidFactory({
      clock,
      randomBytes: (count) => Uint8Array.from({ length: count }, () => (made += 1) % 32),
    }),
    configuration: () => memoryConfigurationSchema.parse({ penalties: { 'other.db': 3 } }),
    pair: () => PAIR,
    exchangeRoot: () => exchangeRoot,
    version: '1.2.3',
    events,
  });
  onTestFinished(async () => await memory.close());
  engine.jobs.register(...memory.jobs);
  return { ...world, memory, events, dataDirectory, exchangeRoot };
}
