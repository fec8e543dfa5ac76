/** The entry point of the page. */

import type { ConsoleForms, ConsoleOutline } from '../contract/console/console-contract.ts';
import { TokenVault } from './api/token-vault.ts';
import { wholeContract } from './api/whole-contract.ts';
import { startApp } from './shell/start-app.tsx';
import { hasExactJson } from './text/exact-json.ts';

const root = document.getElementById('app') as HTMLElement;

try {
  if (!hasExactJson) throw new Error('This browser is too old for the console. Use one from 2025 or later.');
  // A token in the address would stay in the history; it may travel only in the header.
  if (location.search !== '') history.replaceState(null, '', location.pathname + location.hash);
  const outline = await load<ConsoleOutline>('outline.json');
  root.replaceChildren();
  startApp({
    window,
    root,
    vault: new TokenVault(() => sessionStorage),
    outline,
    loadContract: async () => wholeContract(outline, await load<ConsoleForms>('forms.json')),
  });
} catch (error) {
  root.textContent = `The console did not start. ${error instanceof Error ? error.message : String(error)}`;
}

async function load<T>(name: string): Promise<T> {
  const response = await fetch(name);
  if (!response.ok) throw new Error(`The server answered ${response.status} to the request for ${name}.`);
  return (await response.json()) as T;
}
