import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createEvents, followJob, publishEvents } from '../../../src/engine/events/events.ts';
import { callerInProcess } from '../../support/caller-in-process.ts';

interface Stored {
  readonly kind: 'stored';
  readonly texts: number;
}

class TextStore {
  store(texts: readonly string[]): { readonly event: Stored | null } {
    return { event: texts.length === 0 ? null : { kind: 'stored', texts: texts.length } };
  }

  fail(): { readonly event: Stored } {
    throw new Error('the disk is full');
  }

  read(): string {
    return 'text';
  }
}

describe('the events of a store', () => {
  it('are those that its methods return, whoever calls them', async () => {
    const events = createEvents<Stored>();
    const heard: Stored[] = [];
    events.subscribe((event) => heard.push(event));
    const store = publishEvents(callerInProcess(new TextStore()), events);
    await store.store(['one', 'two']);
    await store.store([]);
    await expect(store.fail()).rejects.toThrow('the disk is full');
    expect(await store.read()).toBe('text');
    expect(heard).toEqual([{ kind: 'stored', texts: 2 }]);
  });
});

describe('a job that follows events', () => {
  it('is queued for those that it selects, and its owner hears of an error', async () => {
    const events = createEvents<Stored>();
    const queued: number[] = [];
    const failed: unknown[] = [];
    const select = async ({ texts }: Stored): Promise<number | null> => {
      if (texts === 0) throw new Error('no text');
      return await Promise.resolve(texts > 1 ? texts : null);
    };
    followJob(
      events,
      select,
      (texts) => queued.push(texts),
      (error) => failed.push(error),
    );
    for (const texts of [1, 2, 0]) events.publish({ kind: 'stored', texts });
    await setImmediate();
    expect(queued).toEqual([2]);
    expect(failed).toEqual([new Error('no text')]);
  });
});
