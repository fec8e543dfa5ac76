import { ensureConsole } from '../../scripts/console/build-console.ts';

/** Builds the console before the tests that serve it, if its sources have changed. */
export async function setup(): Promise<void> {
  await ensureConsole();
}
