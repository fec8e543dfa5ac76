import { afterAll, beforeAll, onTestFailed } from 'vitest';

/** Takes what ends something that was started. */
export type AtEnd = (end: () => Promise<void> | void) => void;

/**
 * Makes something once for all tests of the group that this is called in, and ends it after the last of them, in the
 * reverse order of its making. For parts that are slow to start and that no test can break.
 *
 * @returns gives it, inside the tests
 */
export function sharedFixture<T extends object>(make: (atEnd: AtEnd) => Promise<T>): () => T {
  let made: T | null = null;
  beforeAll(async () => {
    const { value, end } = await makeWithEnd(make);
    made = value;
    return end;
  });
  return () => {
    if (made === null) throw new Error('the shared fixture is there only while tests run');
    return made;
  };
}

/**
 * Makes something for the first test of a group that asks for it, and gives it to the next tests too. For parts that are
 * slow to start and that every test leaves as it found them. A failed test may have broken it, so the test after
 * that gets a new one.
 *
 * @returns gives it, inside the tests
 */
export function reusedFixture<T extends object>(make: (atEnd: AtEnd) => Promise<T>): () => Promise<T> {
  let made: { readonly value: T; readonly end: () => Promise<void> } | null = null;
  const end = async (): Promise<void> => {
    const old = made;
    made = null;
    await old?.end();
  };
  afterAll(end);
  return async () => {
    onTestFailed(end);
    made ??= await makeWithEnd(make);
    return made.value;
  };
}

async function makeWithEnd<T>(
  make: (atEnd: AtEnd) => Promise<T>,
): Promise<{ readonly value: T; readonly end: () => Promise<void> }> {
  const ends: Parameters<AtEnd>[0][] = [];
  const end = async (): Promise<void> => {
    for (const each of ends.toReversed()) await each();
  };
  try {
    return { value: await make((each) => ends.push(each)), end };
  } catch (error) {
    await end();
    throw error;
  }
}
