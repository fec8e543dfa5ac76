import type { JSX } from 'preact';
import { UnsavedTexts } from './unsaved-texts.tsx';
import { Button } from '../components/controls.tsx';
import { LogOutButton } from '../components/log-out-button.tsx';
import { useApp } from '../state/app.ts';
import { channelWords, type ChannelWords } from '../state/channel-words.ts';
import { currentVerdict, verdictState } from '../state/verdict.ts';
import { duration, words } from '../text/format.ts';

const SIGNS = { ok: '✓', warn: '!', bad: '✕', idle: '–', unknown: '?' } as const;

/** Says on every page whether clients get files. */
export function VerdictBar({ onSearch }: { readonly onSearch: () => void }): JSX.Element {
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

/** Whose token it is, what it may do, and the way out. */
function Account(): JSX.Element | null {
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

function Verdicts(): JSX.Element {
  const app = useApp();
  const { value, failure } = verdictState(app);
  const { tone, title } = currentVerdict(app);
  const official = value === null ? null : channelWords(value.health, 'official');
  const localized = value === null ? null : channelWords(value.health, 'localized');
  if (failure !== null || official === null || localized === null) {
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
      <Segment name="official" channel={official} />
      <Segment name="localized" channel={localized} />
    </>
  );
}

function Segment({ name, channel }: { readonly name: string; readonly channel: ChannelWords }): JSX.Element {
  const { tone, word, release } = channel;
  return (
    <a class={`verdict ${tone}`} href="#/overview">
      <span class="sign" aria-hidden="true">
        {SIGNS[tone]}
      </span>
      <span>{words(name)}</span>
      <span class="word">{word}</span>
      {release === null ? null : <code class="release">{release}</code>}
      {name === 'official' && tone === 'ok' ? <Renewal /> : null}
    </a>
  );
}

/** How long the attestation of the served release is valid. The daemon renews it before. */
function Renewal(): JSX.Element | null {
  const app = useApp();
  const expiresAt = verdictState(app).value?.health.attestation?.expires_at;
  if (expiresAt === undefined) return null;
  return <span class="muted">{`attested for ${duration(expiresAt - app.now())}`}</span>;
}
