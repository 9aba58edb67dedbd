/** One broker with every kind of protection, for all tests that need one: it takes seconds to start. */
import './connections.ts';
import './changed.ts';
import './acls.ts';
import './no-secrets.ts';
