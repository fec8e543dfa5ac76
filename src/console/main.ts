/** The entry point of the page. */

import { startApp } from './app.js';
import { hasExactJson } from './exact-json.js';
import { createTokenVault } from './token-vault.js';

/** @import { DashboardContract } from '../dashboard-contract.ts' */

const root = /** @type {HTMLElement} */ (document.getElementById('app'));

try {
  if (!hasExactJson)
    throw new Error('This browser is too old for the dashboard. Use one from 2025 or later.');
  // A token in the address would stay in the history; it may travel only in the header.
  if (location.search !== '') history.replaceState(null, '', location.pathname + location.hash);
  const response = await fetch('contract.json', { credentials: 'omit' });
  if (!response.ok)
    throw new Error(`The server answered ${response.status} to the request for the contract.`);
  const contract = /** @type {DashboardContract} */ (await response.json());
  root.replaceChildren();
  startApp({ window, root, vault: createTokenVault(() => sessionStorage), contract });
} catch (error) {
  root.textContent = `The dashboard did not start. ${error instanceof Error ? error.message : String(error)}`;
}
