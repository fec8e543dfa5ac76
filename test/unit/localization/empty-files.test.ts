import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createStore as createGlossaryStore } from '../../../src/localization/glossary/glossary-worker.ts';
import { createStore as createMemoryStore } from '../../../src/localization/memory/memory-worker.ts';
import { createTestGlossary } from '../../support/glossary.ts';
import { startMemory } from '../../support/memory-part.ts';

const SIGNAL = new AbortController().signal;

it('a Glossary without a file says without its thread what an empty one says', async () => {
  const called: string[] = [];
  const afterCall = async (name: string): Promise<void> => {
    called.push(name);
    await Promise.resolve();
  };
  const world = await createTestGlossary({ afterCall });
  await world.glossary.open();
  const summary = world.glossary.latestSummary();
  const finding = await world.glossary.check.run(SIGNAL);
  const diagnoses = await world.glossary.diagnose({ units: [] });
  await world.glossary.close();
  expect([called, existsSync(world.path)]).toEqual([[], false]);

  const store = createGlossaryStore({ path: world.path });
  expect(summary).toEqual(store.summary(null));
  store.close();
  const made = await createTestGlossary({ directory: world.directory, afterCall });
  expect(await made.glossary.check.run(SIGNAL)).toEqual(finding);
  expect(await made.glossary.diagnose({ units: [] })).toEqual(diagnoses);
  expect(called).toEqual(expect.arrayContaining(['summary', 'diagnose']));
});

it('a Translation Memory without a file says without its thread what an empty one says', async () => {
  const { memory, dataDirectory } = await startMemory();
  const main = join(dataDirectory, 'memory.db');
  const finding = await memory.check.run(SIGNAL);
  const conflicts = await memory.openConflicts(SIGNAL);
  await memory.close();
  expect([finding, conflicts, existsSync(main)]).toEqual([
    expect.objectContaining({ status: 'ok' }),
    0,
    false,
  ]);

  const store = createMemoryStore({ main, root: join(dataDirectory, 'memory') });
  expect(memory.latestCounts()).toEqual(store.summary({ path: null }));
  store.close();
});
