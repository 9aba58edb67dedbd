import type { JSX } from 'preact';
import type { Notice } from '../../api/answers/deployment.ts';
import type { Page } from '../../api/answers/shapes.ts';
import { withQuery } from '../api.ts';
import { urlOf } from '../navigation.ts';
import { Data, Id, Time } from '../parts/data.tsx';
import { Nothing, Shown } from '../parts/notes.tsx';
import { PageHead } from '../parts/page.tsx';
import { Pager, usePaging } from '../parts/pager.tsx';
import { usePolled } from '../polled.ts';

export function NoticesPage(): JSX.Element {
  const paging = usePaging('');
  const notices = usePolled<Page<Notice>>(withQuery('/notices', { cursor: paging.cursor }), 10_000);
  return (
    <>
      <PageHead
        title="Notices"
        lead="Messages about destinations that fail for long, were disabled, or work again."
      />
      <Shown of={notices}>
        {({ items, next }) =>
          items.length === 0 ? (
            <Nothing title="No notices yet.">Nothing has lasted long enough to tell you.</Nothing>
          ) : (
            <>
              <ol class="timeline panel">
                {items.map(({ id, at, kind, destination, text }) => (
                  <li key={id} class="idle">
                    <span class="timeline-at">
                      <Time at={at} />
                    </span>
                    <span>
                      <Data text={text} />
                      <span class="under">
                        <Data text={kind} />
                        {destination === undefined ? null : (
                          <>
                            {' · '}
                            <a href={urlOf.destination(destination)}>
                              <Id text={destination} />
                            </a>
                          </>
                        )}
                      </span>
                    </span>
                  </li>
                ))}
              </ol>
              <Pager paging={paging} next={next} label="Pages of notices" />
            </>
          )
        }
      </Shown>
    </>
  );
}
