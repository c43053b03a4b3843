@echo off
rem The verbs of ./dev for Windows. Suites whose dependencies are missing (see ./dev) report it.
setlocal enabledelayedexpansion
cd /d "%~dp0"
set DOTNET_NOLOGO=1
set DOTNET_CLI_TELEMETRY_OPTOUT=1
set MSBUILDDISABLENODEREUSE=1

set verb=%~1
if "%verb%"=="" set verb=help
set arguments=
set only=
shift /1
:more
if "%~1"=="" goto dispatch
set arguments=%arguments% %1
shift /1
goto more

:dispatch
if /i "%verb%"=="run" goto run
if /i "%verb%"=="test" goto test
if /i "%verb%"=="bench" goto bench
if /i "%verb%"=="fmt" goto fmt
if /i "%verb%"=="fuzz" goto fuzz
if /i "%verb%"=="pack" goto pack
if /i "%verb%"=="help" goto help
echo dev: unknown verb '%verb%'; 'dev help' lists the verbs 1>&2
exit /b 2

:help
echo usage: dev ^<verb^> [arguments]
echo.
echo   run [arguments]    build in Release and run the server with these arguments
echo   test [suite...]    the gate: build, check the formatting, run the suites ^(default: all; 'dev test Store Repo' runs two^),
echo                      with a fixed seed and without tests of durations
echo        --long        everything: fresh seeds, all steps, stress, and last the tests of durations
echo   bench [arguments]  measure: 'dev bench all --write-figures' updates docs/reference/figures.md
echo                      'dev bench micro --filter *NameLookup*' runs microbenchmarks
echo                      'dev bench micro document-forms' compares forms in which documents could be kept
echo                      'dev bench profile get-p64' profiles a loaded server ^(Linux^)
echo                      'dev bench ladder' measures a series of server designs, stage by stage
echo                      'dev bench compare HEAD --filter *NameLookup*' finds regressions since that revision
echo                      'dev bench record' appends figures to bench/results.ndjson, 'dev bench history' charts them
echo   fmt                format the sources
echo   fuzz [seconds]     run the fuzz suite for so long ^(default 60 seconds per test^)
echo   fuzz attack [seconds]  requests with hostile sizes, patterns and filters ^(default 600 seconds^)
echo   fuzz crash [rounds]  kill the server under writes and check what it has kept ^(default 2000 rounds^)
echo   fuzz hosts [rounds]  faults of hosts, links, disks, clocks and etcd under a cluster, and a checker of what clients saw ^(default 100 rounds^)
echo   fuzz cluster [schedules] [seed]  the nodes of a cluster and their store in virtual time, with faults; each schedule has the next seed
echo   pack [platform]    write the packages to artifacts\package\release, and the program as a single file to artifacts\program
echo   help               show this list
exit /b 0

:pack
dotnet pack RedKite.slnx -c Release -v quiet || exit /b 1
for %%r in (%arguments%) do dotnet publish src\RedKite.Host -c Release -r %%r -p:PublishSingleFile=true -o artifacts\program\%%r -v quiet || exit /b 1
exit /b 0

:run
echo dev: building the server 1>&2
dotnet build src\RedKite.Host\RedKite.Host.csproj -c Release -v quiet 1>&2 || exit /b 1
dotnet artifacts\bin\RedKite.Host\release\redkite.dll%arguments%
exit /b %errorlevel%

:bench
if /i "%arguments:~0,8%"==" profile" (
    dotnet run -c Release --project bench\Profile --%arguments:~8%
    exit /b
)
if /i "%arguments:~0,6%"==" micro" (
    dotnet run -c Release --project bench\Microbenchmarks --%arguments:~6%
    exit /b
)
if /i "%arguments:~0,7%"==" ladder" (
    dotnet run -c Release --project bench\Ladder --%arguments:~7%
    exit /b
)
if /i "%arguments:~0,8%"==" compare" (
    dotnet build bench\Compare -c Release -v quiet 1>&2 || exit /b 2
    dotnet artifacts\bin\RedKite.Compare\release\RedKite.Compare.dll%arguments:~8%
    exit /b
)
if /i "%arguments:~0,7%"==" record" goto history
if /i "%arguments:~0,8%"==" history" goto history
dotnet run -c Release --project bench\Figures --%arguments%
exit /b %errorlevel%

:history
dotnet build bench\History -c Release -v quiet 1>&2 || exit /b 2
dotnet artifacts\bin\RedKite.History\release\RedKite.History.dll%arguments%
exit /b %errorlevel%

:fmt
dotnet format whitespace RedKite.slnx || exit /b 1
dotnet format style RedKite.slnx
exit /b %errorlevel%

:fuzz
set kind=
set number=
set seed=
for /f "tokens=1-3" %%a in ("%arguments%") do (
    set kind=%%a
    set number=%%b
    set seed=%%c
)
if /i "%kind%"=="attack" goto attack
if /i "%kind%"=="crash" goto crash
if /i "%kind%"=="hosts" goto hosts
if /i "%kind%"=="cluster" goto cluster
set number=%kind%
if "%number%"=="" set number=60
goto fuzzfor

:attack
if "%number%"=="" set number=600
set only=-class RedKite.Fuzz.Tests.AttackTests
goto fuzzfor

:fuzzfor
call :isnumber %number% || exit /b 2
set REDKITE_FUZZ_SECONDS=%number%
set arguments= --long Fuzz
goto test

:crash
if "%number%"=="" set number=2000
call :isnumber %number% || exit /b 2
set REDKITE_CRASH_ROUNDS=%number%
set only=-class RedKite.EndToEnd.Tests.CrashLedgerTests
set arguments= --long EndToEnd
goto test

:hosts
if "%number%"=="" set number=100
call :isnumber %number% || exit /b 2
set REDKITE_CLUSTER_ROUNDS=%number%
set only=-method RedKite.EndToEnd.Tests.Clusters.ClusterFaultTests.Nothing_that_was_acknowledged_is_lost_whatever_fails
set arguments= --long EndToEnd
goto test

:cluster
if "%number%"=="" set number=10000
if "%seed%"=="" set seed=%RANDOM%%RANDOM%
call :isnumber %number% || exit /b 2
call :isnumber %seed% || exit /b 2
dotnet build tests\RedKite.Fuzz.Tests -c Release -v quiet || exit /b 1
set REDKITE_CLUSTER_SCHEDULES=%number%
set REDKITE_SEED=%seed%
dotnet artifacts\bin\RedKite.Fuzz.Tests\release\RedKite.Fuzz.Tests.dll -class RedKite.Fuzz.Tests.Cluster.AgreementTests -showLiveOutput -noLogo
exit /b %errorlevel%

:isnumber
echo %1| findstr /r "^[0-9][0-9]*$" >nul && exit /b 0
echo dev: fuzz takes numbers, not '%1' 1>&2
exit /b 2

:test
if exist artifacts\test-results rmdir /s /q artifacts\test-results
mkdir artifacts\test-results
dotnet build RedKite.slnx -c Release -v quiet || (echo 0 passed, 1 failed& exit /b 1)
set failures=0
rem The traits of tests\RedKite.TestSupport that a run leaves out: LongAttribute and AloneAttribute.
set filter=-trait- run=long -trait- run=alone
set long=
set run=
if defined arguments if not "%arguments:--long=%"=="%arguments%" (
    set long=1
    set REDKITE_LONG=1
    set filter=-trait- run=alone
    set arguments=!arguments: --long=!
)
if "%long%"=="" if "%REDKITE_SEED%"=="" set REDKITE_SEED=20261122
rem What a verb runs alone, whatever its traits.
if defined only set filter=%only%
dotnet format whitespace . --folder --verify-no-changes --include src/ tests/ bench/ || set /a failures+=1
call :suites
if not "%long%"=="" if not defined only (
    set filter=-trait run=alone
    set run=.alone
    call :suites
)
rem The counts come from the result files, which each suite writes last.
powershell -NoProfile -Command "$p=0; $f=%failures%; $s=0; foreach ($r in Get-ChildItem artifacts/test-results/*.xml) { $a=([xml](Get-Content -Raw $r)).assemblies.assembly; $p+=[int]$a.passed; $f+=[int]$a.failed+[int]$a.errors; $s+=[int]$a.skipped+[int]$a.'not-run' }; if ($p+$f -eq 0) { $f=1 }; if ($s) { \"$p passed, $f failed, $s skipped\" } else { \"$p passed, $f failed\" }; exit [int]($f -gt 0)"
exit /b %errorlevel%

:suites
if "%arguments%"=="" (
    for /d %%p in (tests\*.Tests) do call :suite %%~nxp
) else (
    for %%s in (%arguments%) do call :suite RedKite.%%s.Tests
)
exit /b 0

:suite
dotnet artifacts\bin\%1\release\%1.dll -noColor -noLogo -xml artifacts\test-results\%1%run%.xml %filter%
rem A missing result file means that the suite crashed.
if not exist artifacts\test-results\%1%run%.xml set /a failures+=1
exit /b 0
