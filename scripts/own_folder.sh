# own_folder SCRIPT FOLDER FILE...: ends the script if it may not write FOLDER, since it would remove what is there. It
# may if FOLDER is new, is empty, or has each FILE that an earlier run wrote.
own_folder() {
  local script=$1 folder=$2 file; shift 2
  if [ ! -e "$folder" ] && [ ! -L "$folder" ]; then return; fi
  [ -d "$folder" ] || { echo "$script: $folder is no folder" >&2; exit 2; }
  [ -n "$(ls -A "$folder")" ] || return 0
  for file; do
    [ -e "$folder/$file" ] && continue
    echo "$script: $folder has files, and $script did not write them: it has no $file. Name a new folder" >&2
    exit 2
  done
}
