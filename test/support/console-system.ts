import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openPage, type Look, type TestPage } from './browser.ts';
import { sampleFiles, writeReleaseTree } from './release-tree.ts';
import { startSystem, type SystemOptions, type TestSystem } from './system.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** The admin token of these systems. No other text looks like it. */
export const CONSOLE_TOKEN = 'canary-7b1e90-console-token';

/** A real system with an admin token and exposed control, and the address of its console. */
export interface ConsoleSystem extends TestSystem {
  readonly consoleUrl: string;
  /** Replaces the admin token that the server accepts. */
  readonly setToken: (token: string) => Promise<void>;
}

/** Starts daemon and server on a small release. */
export async function startConsoleSystem(
  options: Partial<SystemOptions> & { readonly exposeControl?: boolean } = {},
): Promise<ConsoleSystem> {
  const upstream = await temporaryDirectory(options.atEnd);
  await writeReleaseTree(upstream, { id: 'r90_one', files: sampleFiles() });
  const tokenFile = join(await temporaryDirectory(options.atEnd), 'token');
  await writeFile(tokenFile, `${CONSOLE_TOKEN}\n`, { mode: 0o600 });
  const system = await startSystem({
    upstream: { kind: 'directory', directory: { path: upstream } },
    ...options,
    server: {
      admin: { tokenFiles: [tokenFile], exposeControl: options.exposeControl ?? true },
      ...options.server,
    },
  });
  return Object.assign(system, {
    consoleUrl: `${system.serverUrl}/admin/dashboard/`,
    setToken: async (token: string) => {
      await writeFile(tokenFile, `${token}\n`);
    },
  });
}

/** Opens the console in a browser and gives it the token. */
export async function openConsoleSystem(url: string, look: Look = {}): Promise<TestPage> {
  const opened = await openPage(look);
  await opened.page.goto(url);
  await logIn(opened);
  return opened;
}

/** Types the token and waits for the verdict. */
export async function logIn({ page }: Pick<TestPage, 'page'>, token = CONSOLE_TOKEN): Promise<void> {
  await page.getByLabel('Access token').fill(token);
  await page.getByRole('button', { name: 'Open the console' }).click();
  await page.locator('.verdict-bar .verdict').first().waitFor();
}
