//! Programs say the same and leave the same tree as without the gate.

use crate::session::{ALL_BUT_SHUT, Session, here, shell};

#[test]
fn git() {
    Session::new(here!(), ALL_BUT_SHUT).compare(|| {
        shell(
            "set -e; export GIT_AUTHOR_DATE='1 Jan 2020 00:00 +0000' GIT_COMMITTER_DATE='1 Jan 2020 00:00 +0000' \
             GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@a GIT_CONFIG_NOSYSTEM=1; \
             git init -q -b main work; cd work; echo 1 > a; mkdir d; echo 2 > d/b; git add .; git commit -qm one; \
             git checkout -qb side; git mv d e; echo 3 >> a; git commit -qam two; git log --stat --oneline; \
             git checkout -q main; echo 4 > c; git add c; git commit -qm three; git rebase -q side; git stash list; \
             git gc -q; git worktree add -q ../tree side; cd ..; git clone -q work copy; git -C copy log --oneline; \
             git -C copy fsck; git -C copy status --short",
        )
    });
}

#[test]
fn cp_tar_sed_and_other_small_tools() {
    Session::new(here!(), ALL_BUT_SHUT).compare(|| {
        shell(
            "set -e; umask 027; mkdir -p a/b/c; seq 100 > a/b/x; ln -s b/x a/l; ln a/b/x a/h; mkfifo a/p; chmod 4711 a/b/x; \
             cp -a a copy; tar cf a.tar a; mkdir out; tar xf a.tar -C out; sed -i s/1/one/ out/a/b/x; wc out/a/b/x; \
             install -m 750 a/b/x out/installed; split -l 10 out/a/b/x out/part; cat > here <<EOF\nhere\nEOF\n\
             mv out/a out/moved; find out -name 'part*' -delete; touch -d @0 here; truncate -s 5 here; dd if=here of=dd bs=1 2>/dev/null; \
             patch -v > /dev/null 2>&1 || true; find out copy | sort; ln -sf x l; ln -sfn y l; rm -rf copy; mkdir -p q/r/s; rmdir -p q/r/s; \
             echo a | tee t1 t2 > /dev/null; (echo sub > s) ; echo err >&2; exec 5> five; echo 5 >&5",
        )
    });
}

#[test]
fn python_and_make() {
    Session::new(here!(), ALL_BUT_SHUT).compare(|| {
        let script = "import os,tempfile,shutil,sqlite3,pathlib,subprocess\n\
            with tempfile.TemporaryFile(dir='.') as f: f.write(b'x'); print(f.seek(0), f.read())\n\
            with tempfile.NamedTemporaryFile(dir='.') as f: print(os.path.exists(f.name))\n\
            d=tempfile.mkdtemp(dir='.'); pathlib.Path(d,'a').write_text('a'); shutil.copytree(d,'copied'); shutil.rmtree(d)\n\
            c=sqlite3.connect('db'); c.execute('pragma journal_mode=wal'); c.execute('create table t(a)'); c.execute('insert into t values(1)'); c.commit(); print(c.execute('select * from t').fetchall()); c.close()\n\
            os.replace('copied/a','b'); os.chmod('b',0o600); os.utime('b',(1,2)); print(os.stat('b').st_mtime)\n\
            print(subprocess.run(['sh','-c','echo x > sub; cat sub'],capture_output=True).stdout)\n\
            import multiprocessing as m\n\
            with m.Pool(2) as p: print(p.map(abs,[-1,-2]))\n";
        std::fs::write("script.py", script).unwrap();
        std::fs::write("Makefile", "all: a b\n\tcat a b > c\n\techo done\n%:\n\techo $@ > $@\n").unwrap();
        shell("PYTHONDONTWRITEBYTECODE=1 python3 script.py; make -s -j2 all; cat c; make -s all")
    });
}
