import { render, type JSX } from 'preact';
import type { ConsoleContract } from '../../contract/console/console-contract.ts';
import { ActionDialog } from '../actions/action-dialog.tsx';
import type { TokenVault } from '../api/token-vault.ts';
import { AppContext } from '../state/app.ts';
import { LoginView } from './login-view.tsx';
import { Page } from './page.ts';
import { Shell } from './shell.tsx';

/** Starts the page: draws it into the root, and follows the address, the clock and whether anybody looks. */
export function startApp({
  window,
  root,
  vault,
  contract,
}: {
  readonly window: Window & typeof globalThis;
  readonly root: HTMLElement;
  readonly vault: TokenVault;
  readonly contract: ConsoleContract;
}): void {
  const { document } = window;
  const page = new Page({
    fetch: window.fetch.bind(window),
    vault,
    contract,
    hash: window.location.hash,
    setTitle: (title) => {
      document.title = title;
    },
  });
  window.addEventListener('hashchange', () => {
    void page.open(window.location.hash);
    window.queueMicrotask(() => {
      page.onNews();
      window.scrollTo(0, 0);
      document.querySelector('h1')?.focus();
    });
  });
  document.addEventListener('visibilitychange', () => {
    page.pool.setAwake(!document.hidden);
    page.clock.tick();
  });
  // Ages such as "12 s ago" grow even when no data arrives.
  window.setInterval(() => {
    if (!document.hidden) page.clock.tick();
  }, 1000);
  page.pool.setAwake(!document.hidden);
  render(
    <AppContext.Provider value={page}>
      <Root page={page} />
    </AppContext.Provider>,
    root,
  );
  void page.open(window.location.hash);
}

function Root({ page }: { readonly page: Page }): JSX.Element {
  if (!page.isOpen.value) return <LoginView message={page.loginMessage.value} onLogin={page.login} />;
  return (
    <Shell view={page.view} announcement={page.announcer.text} news={page.news}>
      <OpenDialog page={page} />
    </Shell>
  );
}

/** The dialog of the action that is open. */
function OpenDialog({ page }: { readonly page: Page }): JSX.Element | null {
  const request = page.request.value;
  if (request === null) return null;
  return (
    <ActionDialog app={page} request={request} key={JSON.stringify(request)} onClosed={page.closeDialog} />
  );
}
