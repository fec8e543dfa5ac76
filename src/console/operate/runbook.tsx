import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { runbookAddress } from '../../contract/problems/problem-links.ts';
import { useApp } from '../state/app.ts';

/** The runbook of a reason: within the page when this server has it, and as a link to where it is published. */
export function Runbook({ reason }: { readonly reason: string }): JSX.Element {
  const { runbooks } = useApp().contract;
  const address = runbookAddress(runbooks, reason);
  const [isOpen, setOpen] = useState(false);
  const link = (
    <a href={address} rel="noreferrer">
      Runbook {reason}
    </a>
  );
  if (!runbooks.startsWith('/')) return link;
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Runbook</summary>
      {isOpen ? <RunbookText key={address} address={address} /> : null}
      {link}
    </details>
  );
}

/** A request for a document parses the page where Trusted Types forbid to turn text into markup. Scripts in it do not run. */
function RunbookText({ address }: { readonly address: string }): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const request = new XMLHttpRequest();
    request.open('GET', address);
    request.responseType = 'document';
    request.onloadend = () => {
      const text = request.responseXML?.querySelector('main');
      if (!text) {
        box.current?.replaceChildren('The runbook cannot be loaded.');
        return;
      }
      // Its links are relative to its own address.
      for (const link of text.querySelectorAll('a')) link.setAttribute('href', link.href);
      box.current?.replaceChildren(...document.importNode(text, true).childNodes);
    };
    request.send();
    return () => request.abort();
  }, [address]);
  return <div ref={box} class="runbook" aria-live="polite" />;
}
