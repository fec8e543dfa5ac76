import type { JSX } from 'preact';
import { useApp } from '../state/app.ts';
import { tabsOf, viewOf } from './views.ts';

/** The title of a page and the tabs of its section. */
export function PageHead(): JSX.Element {
  const entry = viewOf(useApp().route);
  const tabs = tabsOf(entry.section);
  return (
    <div class="page-head">
      <h1 tabIndex={-1} class={entry.hasOwnHead === true ? 'unseen' : ''}>
        {entry.title}
      </h1>
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
