import { beforeAll } from 'vitest';

/** Takes what ends something that was started. */
export type AtEnd = (end: () => Promise<void> | void) => void;

/**
 * Makes something once for all tests of the group that this is called in, and ends it after the last of them, in the
 * reverse order of its making. For what is dear to start and cannot be spoilt by a test.
 *
 * @returns gives it, inside the tests
 */
export function sharedFixture<T extends object>(make: (atEnd: AtEnd) => Promise<T>): () => T {
  let made: T | null = null;
  beforeAll(async () => {
    const ends: Parameters<AtEnd>[0][] = [];
    const endAll = async (): Promise<void> => {
      for (const end of ends.toReversed()) await end();
    };
    try {
      made = await make((end) => {
        ends.push(end);
      });
    } catch (error) {
      await endAll();
      throw error;
    }
    return endAll;
  });
  return () => {
    if (made === null) throw new Error('the shared fixture is there only while tests run');
    return made;
  };
}
