import { openPage, type Look, type TestPage } from './browser.ts';
import { consoleToken, type ConsolePerson, type ConsoleWorld } from './console-world.ts';
import { logIn } from './console-system.ts';

/**
 * Opens a page of the console in a browser, with the token of a person.
 *
 * @param hash of the page, such as `#/publish`
 */
export async function openConsole(
  world: Pick<ConsoleWorld, 'url'>,
  hash: string,
  { person = 'admin', ...look }: Look & { readonly person?: ConsolePerson } = {},
): Promise<TestPage> {
  const opened = await openPage(look);
  await opened.page.goto(`${world.url}${hash}`);
  await logIn(opened, consoleToken(person));
  return opened;
}
