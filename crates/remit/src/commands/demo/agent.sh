# A scripted agent. Before each tool call it asks through the same hook that a real agent program calls; what
# it does in the shell behind the hook's back, the kernel judges.
name=$1
remit=/run/remit/session/remit
work=$PWD
call=0

ask() { # tool, path
    call=$((call + 1))
    printf '{"hook_event_name":"PreToolUse","session_id":"demo-%s","cwd":"%s","tool_name":"%s","tool_use_id":"%s-%s","tool_input":{"file_path":"%s/%s","content":""}}' \
        "$name" "$work" "$1" "$name" "$call" "$work" "$2" |
        "$remit" hook claude PreToolUse --root "$work" --agent "$name" 2>$TMPDIR/reason >/dev/null
}

ended() {
    printf '{"hook_event_name":"PostToolUse","session_id":"demo-%s","cwd":"%s","tool_name":"Write","tool_use_id":"%s-%s","tool_input":{},"tool_response":{}}' \
        "$name" "$work" "$name" "$call" |
        "$remit" hook claude PostToolUse --root "$work" --agent "$name" >/dev/null 2>&1
}

write() { # path, text
    if ask Write "$1"; then
        if printf '%s\n' "$2" >"$1"; then echo "+ Write $1"; else echo "- Write $1 (by the kernel)"; fi
        ended
    else
        echo "- Write $1 (by the hook)"
        sed 's/^/  /' $TMPDIR/reason
    fi
}

shell() { # words, command
    if sh -c "$2" 2>$TMPDIR/reason; then echo "+ $1"; else echo "- $1 (by the kernel)"; sed 's/^/  /' $TMPDIR/reason; fi
}

case $name in
frontend)
    write frontend/app.js "console.log('cart')"
    write backend/server.py "print('mine now')"
    shell "sh: echo >backend/server.py, behind the hook's back" "echo 'mine now' >backend/server.py"
    shell "sh: cat shared/api.md" "cat shared/api.md >/dev/null"
    shell "sh: cp secrets/token frontend/stolen" "cp secrets/token frontend/stolen"
    ;;
backend)
    write backend/server.py "print('orders')"
    write shared/api.md "# Our API"
    shell "sh: sed -i on shared/api.md" "sed -i 's/API/our API/' shared/api.md"
    shell "sh: rewrite remit.yaml" "echo 'default_policy: allow' >remit.yaml"
    ;;
esac
