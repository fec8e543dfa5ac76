import type { ReadonlySignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { Button } from '../components/controls.tsx';
import { Empty } from '../components/text.tsx';
import { useApp } from '../state/app.ts';
import type { View } from '../state/view.ts';
import { Banner } from './banner.tsx';
import { Guard } from './guard.tsx';
import { viewOf, VIEWS } from './views.ts';

interface ShellProps {
  /** The page of the address; `null` until its file has arrived; a text when it could not be loaded. */
  readonly view: ReadonlySignal<View | string | null>;
  /** The text for screen readers. */
  readonly announcement: ReadonlySignal<string>;
  /** Changes with every answer. */
  readonly news: ReadonlySignal<number>;
  readonly children: ComponentChildren;
}

/** The frame around every page. Its children are the dialog that is open. */
export function Shell({ view, announcement, news, children }: ShellProps): JSX.Element {
  const app = useApp();
  const entry = viewOf(app.route);
  return (
    <div class="shell">
      <a class="skip" href="#main" onClick={skip}>
        Skip to the content
      </a>
      <header>
        <img src="icon.svg" alt="" width={28} height={28} />
        <span class="brand">Slipway</span>
        <span class="faint">{app.index()?.service.version ?? ''}</span>
        <Button onClick={app.forgetToken} class="quiet">
          Forget token
        </Button>
      </header>
      <nav aria-label="Views">
        <ul>
          {VIEWS.map(({ id, title }) => (
            <li key={id}>
              <a href={`#/${id}`} {...(id === entry.id ? { 'aria-current': 'page' as const } : {})}>
                {title}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <main id="main" tabIndex={-1}>
        <h1 tabIndex={-1} class="unseen">
          {entry.title}
        </h1>
        <Banner brief={entry.id !== 'overview'} />
        <Page key={`${entry.id}/${app.route.argument}`} view={view} news={news} />
      </main>
      <div role="status" aria-live="polite" class="unseen">
        {announcement}
      </div>
      {children}
    </div>
  );
}

function Page({ view, news }: Pick<ShellProps, 'view' | 'news'>): JSX.Element {
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
  const { Body } = shown;
  return (
    <NewsGuard news={news}>
      <div class="view">
        <Body />
      </div>
    </NewsGuard>
  );
}

/** Follows the news on its own, so that what it guards is not drawn again with each of them. */
function NewsGuard({
  news,
  children,
}: Pick<ShellProps, 'news'> & { readonly children: ComponentChildren }): JSX.Element {
  return <Guard news={news.value}>{children}</Guard>;
}

/** The address names the page, so the link must not change it. */
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}
