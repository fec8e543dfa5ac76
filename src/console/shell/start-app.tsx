import { render } from 'preact';
import type { ConsoleContract, ConsoleOutline } from '../../contract/console/console-contract.ts';
import { ActionDialog } from '../actions/action-dialog.tsx';
import type { TokenVault } from '../api/token-vault.ts';
import { AppContext } from '../state/app.ts';
import type { KeyPress } from '../state/keyboard.ts';
import { ThemeChoice } from '../state/theme.ts';
import { LoginView } from './login-view.tsx';
import { Page } from './page.ts';
import { Shell } from './shell.tsx';

/** Starts the page: draws it into the root, and follows the address, the clock and whether the page is visible. */
export function startApp({
  window,
  root,
  vault,
  outline,
  loadContract,
}: {
  readonly window: Window & typeof globalThis;
  readonly root: HTMLElement;
  readonly vault: TokenVault;
  readonly outline: ConsoleOutline;
  readonly loadContract: () => Promise<ConsoleContract>;
}): void {
  const { document } = window;
  const page = new Page({
    fetch: window.fetch.bind(window),
    vault,
    outline,
    loadContract,
    hash: window.location.hash,
    setTitle: (title) => {
      document.title = title;
    },
    replaceHash: (hash) => window.history.replaceState(null, '', hash),
    navigate: (hash) => {
      window.location.hash = hash;
    },
    themes: new ThemeChoice(() => window.localStorage, document.documentElement),
    isMac: /^(?:Mac|iP)/.test(window.navigator.platform),
  });
  window.addEventListener('hashchange', ({ oldURL, newURL }) => {
    void page.open(window.location.hash);
    if (pageOf(oldURL) === pageOf(newURL)) return;
    window.queueMicrotask(() => {
      page.onAnswer();
      window.scrollTo(0, 0);
      document.querySelector('h1')?.focus();
    });
  });
  window.addEventListener('keydown', (event) => {
    // A dialog has keys of its own.
    if (!page.isOpen.peek() || document.querySelector('dialog[open]') !== null) return;
    if (page.keyboard.press(keyPressOf(event))) event.preventDefault();
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

function pageOf(url: string): string {
  return url.split('?', 1)[0] ?? '';
}

const TEXT_FIELDS = 'input:not([type=checkbox], [type=radio]), textarea, select';

function keyPressOf(event: KeyboardEvent): KeyPress {
  const { key, code, ctrlKey, metaKey, altKey, shiftKey, isComposing, target } = event;
  const isTyping = target instanceof HTMLElement && target.matches(TEXT_FIELDS);
  const isInForm = target instanceof HTMLElement && target.closest('form') !== null;
  return { key, code, ctrlKey, metaKey, altKey, shiftKey, isComposing, isTyping, isInForm };
}

function Root({ page }: { page: Page }) {
  if (!page.isOpen.value) return <LoginView message={page.loginMessage.value} onLogin={page.login} />;
  return (
    <Shell page={page}>
      <OpenDialog page={page} />
    </Shell>
  );
}

function OpenDialog({ page }: { page: Page }) {
  const request = page.request.value;
  const contract = page.wholeContract();
  if (request === null || contract === null) return null;
  return (
    <ActionDialog
      app={page}
      contract={contract}
      request={request}
      key={JSON.stringify(request)}
      onClosed={page.closeDialog}
    />
  );
}
