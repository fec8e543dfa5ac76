import { type ComponentChildren, type JSX, Component } from 'preact';
import { useRef, useEffect, useState } from 'preact/hooks';
import { Button } from '../components/controls.tsx';
import { Loading } from '../components/text.tsx';
import { useApp } from '../state/app.ts';
import { verdictState } from '../state/verdict.ts';
import type { Page } from './page.ts';
import type { Palette } from './palette.tsx';
import { ToastList } from './toasts.tsx';
import { VerdictBar } from './verdict-bar.tsx';
import { viewOf, SECTIONS, tabsOf, type SectionId } from './views.ts';

/** The frame around every page. Its children are the dialog that is open. */
export function Shell({ page, children }: { page: Page; children: ComponentChildren }): JSX.Element {
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

function Body({ page: { view, answers } }: { page: Page }) {
  const shown = view.value;
  if (shown === null) return <Loading />;
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
function AnswerGuard({ answers, children }: { answers: Page['answers']; children: ComponentChildren }) {
  return <Guard answers={answers.value}>{children}</Guard>;
}

function Overlay({ page }: { page: Page }) {
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

const ICONS: Readonly<Record<SectionId, string>> = {
  operate: 'M2 11h4l2-6 4 11 2-5h4',
  releases: 'M10 2l7 4v8l-7 4-7-4V6zM3 6l7 4 7-4M10 10v8',
  translate: 'M2 5h9M6.5 3v2M9 5c-1 4-4 6-6.5 7M4.5 8c1 2 3 3.5 5 4M10 17l4-9 4 9M11.3 14h5.4',
  settings: 'M3 6h8M15 6h2M3 14h2M9 14h8M13 6a2 2 0 1 0-4 0 2 2 0 0 0 4 0zM9 14a2 2 0 1 0-4 0 2 2 0 0 0 4 0z',
};

/** The sections of the console. A section without a page is left out. */
function Rail() {
  const { section } = viewOf(useApp().route);
  return (
    <nav class="rail" aria-label="Sections">
      <img class="mark" src="icon.svg" alt="Slipway" width={28} height={28} />
      <ul>
        {SECTIONS.map(({ id, title }) => {
          const first = tabsOf(id)[0];
          if (first === undefined) return null;
          return (
            <li key={id}>
              <a href={`#/${first.id}`} {...(id === section ? { 'aria-current': 'true' as const } : {})}>
                <svg viewBox="0 0 20 20" aria-hidden="true">
                  <path
                    d={ICONS[id]}
                    fill="none"
                    stroke="currentColor"
                    stroke-width="1.6"
                    stroke-linejoin="round"
                  />
                </svg>
                {title}
              </a>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}

function PageHead() {
  const entry = viewOf(useApp().route);
  const tabs = tabsOf(entry.section);
  return (
    <div class="page-head">
      <h1 tabIndex={-1}>{entry.title}</h1>
      {tabs.length < 2 ? null : (
        <nav class="tabs" aria-label="Pages of this section">
          {tabs.map(({ id, title }) => (
            <a key={id} href={`#/${id}`} {...(id === entry.id ? { 'aria-current': 'page' as const } : {})}>
              {title}
            </a>
          ))}
        </nav>
      )}
    </div>
  );
}

function VersionNote() {
  const version = verdictState(useApp()).value?.health.version;
  const first = useRef(version);
  first.current ??= version;
  if (version === undefined || version === first.current) return null;
  return (
    <div class="version-note note info" role="status">
      <span>{`The server now has version ${version}; this page is from version ${first.current ?? ''}.`}</span>{' '}
      <Button onClick={() => location.reload()}>Load the page again</Button>
    </div>
  );
}

function PageKeysDialog({ onClosed }: { onClosed: () => void }) {
  const app = useApp();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog class="page-keys" aria-labelledby="keys-title" ref={dialog} onClose={onClosed}>
      <div class="dialog-head">
        <h2 id="keys-title">Keyboard shortcuts</h2>
        <Button class="plain" onClick={() => dialog.current?.close()}>
          Close
        </Button>
      </div>
      <dl>
        {app.keyboard.keys.value
          .filter(({ text }) => text !== undefined)
          .map(({ keys, text }) => (
            <div key={keys}>
              <dt>
                <kbd>{app.keyboard.nameOf(keys)}</kbd>
              </dt>
              <dd>{text}</dd>
            </div>
          ))}
      </dl>
    </dialog>
  );
}

function LazyPalette(props: Parameters<typeof Palette>[0]) {
  const app = useApp();
  const [loaded, setLoaded] = useState<{ readonly Palette: typeof Palette } | null>(null);
  useEffect(() => {
    import('./palette.tsx').then(setLoaded, () => {
      props.onClosed();
      app.toast('The search could not be loaded, because the server does not answer.', 'bad');
    });
  }, []);
  return loaded === null ? null : <loaded.Palette {...props} />;
}

interface GuardProps {
  readonly answers: number;
  readonly children?: ComponentChildren;
}

interface GuardState {
  readonly answers: number;
  readonly error: string | null;
}

/** Prevents a page that cannot show its data from breaking everything around it. */
class Guard extends Component<GuardProps, GuardState> {
  constructor(props: GuardProps) {
    super(props);
    this.state = { answers: props.answers, error: null };
  }

  static override getDerivedStateFromProps({ answers }: GuardProps, state: GuardState): GuardState | null {
    return answers === state.answers ? null : { answers, error: null };
  }

  override componentDidCatch(error: unknown): void {
    this.setState({ error: String(error) });
  }

  override render(): ComponentChildren {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return (
      <div class="note bad">
        <p>
          <strong>This view cannot show the data from the server. </strong>
          <span>{error}</span>
        </p>
      </div>
    );
  }
}
