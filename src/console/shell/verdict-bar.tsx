import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Button, LogOutButton } from '../components/controls.tsx';
import { useLate } from '../components/use-late.ts';
import { useApp } from '../state/app.ts';
import { channelWords, type ChannelWords } from '../state/service-states.ts';
import { currentVerdict, verdictState } from '../state/verdict.ts';
import { duration, words } from '../text/format.ts';
import { hasDrafts } from '../translate/editor/draft/draft-prefix.ts';

const SIGNS = { ok: '✓', warn: '!', bad: '✕', idle: '–', unknown: '?' } as const;

/** Says on every page whether clients get files. */
export function VerdictBar({ onSearch }: { onSearch: () => void }): JSX.Element {
  return (
    <div class="verdict-bar">
      <Verdicts />
      <span class="tools">
        <UnsavedTexts />
        <Button class="plain" onClick={onSearch}>
          <svg class="search-sign" viewBox="0 0 20 20" width={20} height={20} aria-hidden="true">
            <path
              d="M8.5 3a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM12.5 12.5L17 17"
              fill="none"
              stroke="currentColor"
              stroke-width="1.6"
            />
          </svg>
          <span class="search-word">Search</span> <kbd>Ctrl K</kbd>
        </Button>
        <Account />
      </span>
    </div>
  );
}

function Account() {
  const app = useApp();
  const token = app.index()?.token;
  if (token === undefined) return null;
  const { id, scopes } = token;
  const may = scopes.length === 0 ? 'Only reads' : `May ${scopes.join(', ')}`;
  return (
    <>
      <a class="account" href="#/settings" title={may}>
        <span class="unseen">Token </span>
        {id}
        <span class="unseen">{`: ${may}`}</span>
      </a>
      <LogOutButton class="plain log-out" />
    </>
  );
}

function Verdicts() {
  const app = useApp();
  const { value, failure } = verdictState(app);
  const { tone, title } = currentVerdict(app);
  if (failure !== null || value === null) {
    return (
      <a class={`verdict ${tone}`} href="#/overview">
        <span class="sign" aria-hidden="true">
          {SIGNS[tone]}
        </span>
        <span class="word">{title}</span>
      </a>
    );
  }
  return (
    <>
      <Segment name="official" channel={channelWords(value.health, 'official')} />
      <Segment name="localized" channel={channelWords(value.health, 'localized')} />
    </>
  );
}

function Segment({ name, channel }: { name: string; channel: ChannelWords }) {
  const { tone, word, release } = channel;
  return (
    <a class={`verdict ${tone}`} href="#/overview">
      <span class="sign" aria-hidden="true">
        {SIGNS[tone]}
      </span>
      <span>{words(name)}</span>
      <span class="word">{word}</span>
      {release === null ? null : (
        <code class="release" title={release}>
          <bdi>{release}</bdi>
        </code>
      )}
      {name === 'official' && tone === 'ok' ? <Renewal /> : null}
    </a>
  );
}

function Renewal() {
  const app = useApp();
  const expiresAt = verdictState(app).value?.health.attestation?.expires_at;
  if (expiresAt === undefined) return null;
  return <span class="muted">{`attestation expires in ${duration(expiresAt - app.now())}`}</span>;
}

const WRITING: ReadonlySet<string> = new Set(['translate-task', 'review']);

function UnsavedTexts() {
  const { view } = useApp().route;
  const [isKept, setKept] = useState(() => hasDrafts(() => localStorage));
  useEffect(() => {
    // Another tab has kept one, which this one sends when that tab ends.
    const look = (): void => setKept(hasDrafts(() => localStorage));
    addEventListener('storage', look);
    return () => removeEventListener('storage', look);
  }, []);
  // Without its file the texts stay in the browser, and the editor also loads it.
  const Note = useLate(
    isKept || WRITING.has(view),
    async () => (await import('../translate/editor/draft/save-state.tsx')).UnsavedNote,
  );
  return Note === null ? null : <Note />;
}
