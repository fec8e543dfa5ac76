import { useRef } from 'preact/hooks';
import type { JSX } from 'preact';
import { Button } from '../components/controls.tsx';
import { useApp } from '../state/app.ts';
import { verdictState } from '../state/verdict.ts';

/** Says that the server has another version than when this page was loaded. */
export function VersionNote(): JSX.Element | null {
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
