import type { ComponentChildren, JSX } from 'preact';
import { Button } from '../components/controls.tsx';
import { Empty } from '../components/text.tsx';
import type { Page } from './page.ts';
import { Guard } from './guard.tsx';
import { PageHead } from './page-head.tsx';
import { PageKeysDialog } from './page-keys-dialog.tsx';
import { LazyPalette } from './lazy-palette.tsx';
import { Rail } from './rail.tsx';
import { ToastList } from './toasts.tsx';
import { VersionNote } from './version-note.tsx';
import { VerdictBar } from './verdict-bar.tsx';
import { viewOf } from './views.ts';

/** The frame around every page. Its children are the dialog that is open. */
export function Shell({
  page,
  children,
}: {
  readonly page: Page;
  readonly children: ComponentChildren;
}): JSX.Element {
  const { argument } = page.route;
  return (
    <div class="shell">
      <a class="skip" href="#main" onClick={skip}>
        Skip to the content
      </a>
      <Rail />
      <div>
        <header class="top">
          <VerdictBar onSearch={page.openPalette} />
          <VersionNote />
        </header>
        <main id="main" tabIndex={-1}>
          <PageHead />
          <Body page={page} key={`${viewOf(page.route).id}/${argument}`} />
        </main>
      </div>
      <div role="status" aria-live="polite" class="unseen">
        {page.announcer.text}
      </div>
      <ToastList toasts={page.toasts} />
      <Overlay page={page} />
      {children}
    </div>
  );
}

function Body({ page: { view, answers } }: { readonly page: Page }): JSX.Element {
  const shown = view.value;
  if (shown === null) return <Empty>Loading …</Empty>;
  if (typeof shown === 'string') {
    return (
      <div class="note bad" role="alert">
        <p>{shown}</p>
        <Button onClick={() => location.reload()}>Load the page again</Button>
      </div>
    );
  }
  return (
    <AnswerGuard answers={answers}>
      <div class="view">
        <shown.Body />
      </div>
    </AnswerGuard>
  );
}

/** Follows the answers on its own, so that what it guards is not drawn again with each of them. */
function AnswerGuard({
  answers,
  children,
}: Pick<Page, 'answers'> & { readonly children: ComponentChildren }): JSX.Element {
  return <Guard answers={answers.value}>{children}</Guard>;
}

function Overlay({ page }: { readonly page: Page }): JSX.Element | null {
  switch (page.overlay.value) {
    case 'palette':
      return <LazyPalette recent={page.recent} onClosed={page.closeOverlay} />;
    case 'keys':
      return <PageKeysDialog onClosed={page.closeOverlay} />;
    default:
      return null;
  }
}

/** The address names the page, so the link must not change it. */
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}
