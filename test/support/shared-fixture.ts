import { afterAll, beforeAll, onTestFailed } from 'vitest';

/** Registers a function that stops a resource. */
export type AtEnd = (end: () => Promise<void> | void) => void;

/**
 * Creates something once for all tests of the calling group, and stops it after the last of them, in reverse order of
 * creation. For parts that start slowly and that no test can break.
 *
 * @returns a function that returns it, inside the tests
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
 * Creates something for the first test of a group that needs it, and shares it with the next tests. For parts that
 * start slowly and that every test leaves unchanged. A failed test may have broken it, so the following test gets a new
 * one.
 *
 * @returns a function that returns it, inside the tests
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
